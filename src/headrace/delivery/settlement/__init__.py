"""What becomes of a delivery after an attempt, made durable in the ledger."""

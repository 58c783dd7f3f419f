"""What happened, durably: the event log, and the outbox of deliveries planned from it."""

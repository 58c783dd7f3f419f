"""The route: one Structured Streaming query from the log to the outbox."""

"""The durable event log, its archive, and the outbox of deliveries planned from it."""

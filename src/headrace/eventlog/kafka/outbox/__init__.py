"""The outbox in Kafka."""

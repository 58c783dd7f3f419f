"""The log and the outbox as Kafka topics: each partition of the log is a partition of a topic."""

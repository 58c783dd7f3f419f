"""The log and the outbox as Kafka topics: lanes are partitions, and many machines share them."""

"""Delivery to Kafka."""

"""Delivery over AMQP 1.0."""

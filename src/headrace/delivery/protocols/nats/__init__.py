"""Delivery to NATS."""

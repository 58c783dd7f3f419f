"""Subscription queues: what waits in memory for an attempt, in which order, and how fast it goes."""

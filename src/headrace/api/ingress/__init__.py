"""The ingress, and what it asks before it takes an event: the known channels, the rates, and the back-pressure."""

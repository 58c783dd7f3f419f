"""What the ingress asks before it takes an event: the channel, the rate, the room behind it."""

"""The HTTP doors: channels take events in, the rest is for managing subscriptions."""

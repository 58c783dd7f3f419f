"""Commands that run the service and look after it."""

"""Commands that send, receive and subscribe to events."""

"""Events for consumers that pull: messages, cursors, and streams of server-sent events."""

"""One attempt: what is sent, where to, and what came of it."""

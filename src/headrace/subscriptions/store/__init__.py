"""The store of channels and subscriptions, in SQLite or PostgreSQL."""

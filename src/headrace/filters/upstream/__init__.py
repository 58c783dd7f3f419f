"""Filters for the senders of events: small and fast supersets of many filters."""

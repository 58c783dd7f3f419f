"""Channels: their names, documents and rows."""

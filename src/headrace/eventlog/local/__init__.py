"""The embedded log and outbox: Arrow in local files, shared between processes by mapping them."""

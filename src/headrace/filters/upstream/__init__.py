"""Filters for whoever sends events: one that holds wherever any of many does, made small and quick."""

"""Measurements: each `headrace bench` command starts the real service and prints what it saw."""

"""The bounds of a filter: its limits, its size and its worst-case cost on one event."""

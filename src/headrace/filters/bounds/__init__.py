"""What a filter may cost: its limits, its size, and its worst case on one event."""

"""The Bloom filters of channels: watched while events are matched, and exported for those who send events."""

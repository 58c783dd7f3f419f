"""What stands at the fields that filters mention, read out of events into flat arrays."""

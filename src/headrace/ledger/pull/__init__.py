"""What waits to be pulled, and the consumers that pull it."""

"""What filters are to the index: checks, the alternatives made of them, and the subscriptions they belong to."""

"""A filter on a whole Arrow batch of events at once, column by column."""

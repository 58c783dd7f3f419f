"""Evaluate a filter on a whole Arrow batch of events, column by column."""

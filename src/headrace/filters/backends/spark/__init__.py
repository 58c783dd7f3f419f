"""A filter as a Spark column over the event table."""

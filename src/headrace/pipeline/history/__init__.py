"""Every event that is still kept as one Spark table, and the queries over it."""

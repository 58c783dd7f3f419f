"""Jobs done in the route's Spark session, beside the routing."""

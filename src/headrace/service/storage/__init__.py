"""Where a deployment keeps things, and whether they are whole."""

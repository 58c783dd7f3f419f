"""API keys: what one looks like, what is kept of it, and how requests are checked against them."""

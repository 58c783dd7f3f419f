"""Serving HTTP: the server, its limits on strangers, and the handlers of a deployment."""

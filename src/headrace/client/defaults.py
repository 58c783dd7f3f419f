"""Where a client looks for the service, and the channel that it means, unless it is told otherwise."""

DEFAULT_URL = "http://127.0.0.1:8080"
DEFAULT_CHANNEL = "default/default"

"""The default URL of the service, and the default channel. The CLI imports these without the client."""

DEFAULT_URL = "http://127.0.0.1:8080"
DEFAULT_CHANNEL = "default/default"

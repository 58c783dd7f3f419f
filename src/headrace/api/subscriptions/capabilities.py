"""What the Subscriptions API supports, as `OPTIONS` answers: operations, protocols, dialects and parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.api.subscriptions.query import QUERY_PARAMETERS
from headrace.filters.dialects.table import DIALECTS
from headrace.protocols import PROTOCOLS
from headrace.subscriptions.channels.config_keys import OWN_KEYS

if TYPE_CHECKING:
    from headrace.api.answers.subscriptions import Capabilities

COLLECTION, RESOURCE = "/subscriptions", "/subscriptions/{id}"
_OPERATIONS = {
    "Create": ("POST", COLLECTION),
    "Retrieve": ("GET", RESOURCE),
    "Query": ("GET", COLLECTION),
    "Update": ("PUT", RESOURCE),
    "Delete": ("DELETE", RESOURCE),
}


def methods(path: str) -> list[str]:
    """Return the methods of an address."""
    own = {method for method, where in _OPERATIONS.values() if where == path}
    return sorted({*own, "HEAD", "OPTIONS"})


def supported() -> Capabilities:
    """List what is supported, by name; `GET /api/discovery` has the details."""
    return {
        "operations": {
            name: {"method": method, "path": path} for name, (method, path) in _OPERATIONS.items()
        },
        "queryparameters": [each.name for each in QUERY_PARAMETERS],
        "protocols": list(PROTOCOLS),
        "dialects": list(DIALECTS),
        "config": list(OWN_KEYS),
    }

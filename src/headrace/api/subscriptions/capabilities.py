"""What the Subscriptions API supports, as `OPTIONS` answers: operations, protocols, dialects and parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.api.requests.documents import json_response
from headrace.filters.dialects.table import DIALECTS
from headrace.protocols import PROTOCOLS
from headrace.subscriptions.channels.config_keys import OWN_KEYS

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

COLLECTION, RESOURCE = "/subscriptions", "/subscriptions/{id}"
QUERY_PARAMETERS = ("channel", "namespace", "sink", "protocol", "state", "limit", "cursor")
_OPERATIONS = {
    "Create": ("POST", COLLECTION),
    "Retrieve": ("GET", RESOURCE),
    "Query": ("GET", COLLECTION),
    "Update": ("PUT", RESOURCE),
    "Delete": ("DELETE", RESOURCE),
}


async def capabilities(request: Request) -> Response:
    """List the methods of the address, and what the service supports. It is the same for every id."""
    path = RESOURCE if "id" in request.path_params else COLLECTION
    return json_response(supported(), headers={"allow": ", ".join(methods(path))})


def methods(path: str) -> list[str]:
    """Return the methods of an address."""
    own = {method for method, where in _OPERATIONS.values() if where == path}
    return sorted({*own, "HEAD", "OPTIONS"})


def supported() -> dict[str, Any]:
    """List what is supported, by name; `GET /api/discovery` has the details."""
    return {
        "operations": {
            name: {"method": method, "path": path} for name, (method, path) in _OPERATIONS.items()
        },
        "queryparameters": list(QUERY_PARAMETERS),
        "protocols": list(PROTOCOLS),
        "dialects": list(DIALECTS),
        "config": list(OWN_KEYS),
    }

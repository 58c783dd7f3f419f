"""The top of the OpenAPI document: title, tags and authentication."""

from __future__ import annotations

from typing import Any

from headrace.api.routes.tags import TAGS

_DESCRIPTION = """\
Producers POST CloudEvents to channels; consumers subscribe with filters in the language they know; matched events
are delivered at least once, and history can be searched and delivered again.

Errors are `application/problem+json` (RFC 9457): `code` is stable, `detail` says what to do, and `faults` lists
everything that is wrong, each with the path of its property.
"""
HEAD: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {
        "title": "Headrace",
        "summary": "Content-based routing of CloudEvents",
        "description": _DESCRIPTION,
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    },
    "servers": [{"url": "/", "description": "This service"}],
    "tags": [{"name": each.name, "description": each.description} for each in TAGS],
    "security": [{}, {"bearer": []}],
}
SECURITY_SCHEMES = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key, or a token of an OpenID provider; where `auth.mode` is on.",
    }
}

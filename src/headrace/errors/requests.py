"""Errors of requests for things that exist, or don't."""

from __future__ import annotations

from typing import Any

from headrace.errors.base import HeadraceError, quoted
from headrace.errors.faults import InvalidDocument


class InvalidRequest(InvalidDocument):
    """A request that can't be met. `faults` maps a property's path to what is wrong with it."""

    code = "invalid-request"


class NotFound(HeadraceError):
    """There is no such thing."""

    code = "not-found"
    http_status = 404

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"there is no {kind} {quoted(name)}")
        self.kind = kind
        self.name = name


class Conflict(HeadraceError):
    """The request contradicts what exists."""

    code = "conflict"
    http_status = 409


class PreconditionFailed(HeadraceError):
    """Somebody changed the thing since the request's author looked at it. `etag` is what it has now."""

    code = "precondition-failed"
    http_status = 412

    def __init__(self, kind: str, name: str, etag: str) -> None:
        super().__init__(
            f"{kind} {name} was changed since you looked at it: its ETag is {etag}; look at it again, "
            "and send the request with that"
        )
        self.etag = etag

    def headers(self) -> dict[str, str]:
        """Return the thing's present ETag."""
        return {"etag": self.etag}

    def members(self) -> dict[str, Any]:
        """Return the thing's present ETag."""
        return {"etag": self.etag}

"""What every handler offers: endpoints, by path and method."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

Endpoint = Callable[[Request], Awaitable[Response]]
Routes = dict[str, dict[str, Endpoint]]


class Handler(Protocol):
    """Answers the requests to some paths."""

    def routes(self) -> Routes:
        """Return the endpoints by path and method."""
        ...

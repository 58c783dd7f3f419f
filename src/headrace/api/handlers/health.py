"""Health, readiness and metrics, for supervisors, load balancers and scrapers."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from headrace.api.access.access import access_of
from headrace.api.requests.documents import json_response
from headrace.telemetry.metrics import exposition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request

    from headrace.api.handlers.handler import Routes
    from headrace.telemetry.readiness import RoleStatus


class HealthHandler:
    """`roles` reports the roles of this machine only."""

    def __init__(self, roles: Callable[[], Mapping[str, RoleStatus]], *, metrics: bool) -> None:
        self._roles = roles
        self._metrics = metrics

    def routes(self) -> Routes:
        """Return the endpoints by path and method."""
        return {
            "/healthz": {"GET": self.health},
            "/readyz": {"GET": self.readiness},
            **({"/metrics": {"GET": self.metrics}} if self._metrics else {}),
        }

    async def health(self, _: Request) -> Response:
        """Confirm that this process answers."""
        return json_response({"status": "ok"})

    async def readiness(self, request: Request) -> Response:
        """Tell whether all roles of this machine are ready, so that events are delivered at once.

        The details name folders and databases, so only callers who see every namespace get them.
        """
        roles, now = self._roles(), time.monotonic()
        ready = all(each.is_ready for each in roles.values())
        document: dict[str, Any] = {
            "ready": ready,
            "roles": {role: each.state for role, each in roles.items()},
        }
        if access_of(request).namespaces is None:
            document["details"] = {role: each.document(now) for role, each in roles.items()}
        return json_response(document, 200 if ready else 503)

    async def metrics(self, _: Request) -> Response:
        """Show all metrics."""
        text = await asyncio.to_thread(exposition)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

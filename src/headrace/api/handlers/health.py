"""Health, readiness and metrics, for supervisors, load balancers and scrapers."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from headrace.api.access.access import access_of
from headrace.api.access.permissions import OPEN, OPEN_IN_PART, Target, subscribe
from headrace.api.answers.health import Health, Readiness
from headrace.api.openapi.operation import Answer
from headrace.api.requests.documents import json_response
from headrace.api.routes.tags import OPERATION
from headrace.telemetry.metrics import exposition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request

    from headrace.telemetry.readiness import RoleStatus


class HealthHandler:
    """`roles` reports the roles of this machine only."""

    def __init__(self, roles: Callable[[], Mapping[str, RoleStatus]]) -> None:
        self._roles = roles

    @OPERATION.route("GET /healthz", OPEN, Answer("It does.", Health))
    async def health(self, _: Request) -> Response:
        """Say that this process answers."""
        return json_response({"status": "ok"})

    @OPERATION.route(
        "GET /readyz",
        OPEN_IN_PART,
        {
            200: Answer(
                "All of them have just made progress, or are idle for a reason; so events are delivered at once.",
                Readiness,
            ),
            503: Answer("Some are not.", Readiness),
        },
    )
    async def readiness(self, request: Request) -> Response:
        """Say whether the roles of this machine are ready, and why not."""
        roles, now = self._roles(), time.monotonic()
        ready = all(each.is_ready for each in roles.values())
        document: dict[str, Any] = {
            "ready": ready,
            "roles": {role: each.state for role, each in roles.items()},
        }
        # They name folders and databases.
        if access_of(request).namespaces is None:
            document["details"] = {role: each.document(now) for role, each in roles.items()}
        return json_response(document, 200 if ready else 503)


class MetricsHandler:
    """All metrics of this process."""

    @OPERATION.route(
        "GET /metrics", subscribe(Target.EVERY), Answer("The text format of Prometheus.", {"text/plain": str})
    )
    async def metrics(self, _: Request) -> Response:
        """Show all metrics, as Prometheus reads them."""
        text = await asyncio.to_thread(exposition)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

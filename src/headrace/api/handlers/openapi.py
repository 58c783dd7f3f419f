"""The OpenAPI document of what this process serves, as JSON and as a page to read."""

from __future__ import annotations

import asyncio
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from headrace.api import openapi
from headrace.api.access.permissions import OPEN
from headrace.api.openapi.document import assemble
from headrace.api.openapi.operation import Answer
from headrace.api.routes.route import routes_of
from headrace.api.routes.tags import DISCOVERY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from headrace.api.routes.route import Route


# The page needs nothing but itself and the document, and can't be made to fetch anything else.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class OpenApiHandler:
    """`served` are the routes of the other handlers. The document is made on the first request."""

    def __init__(self, served: Sequence[Route]) -> None:
        self._served = served

    @DISCOVERY.route(
        "GET /openapi.json",
        OPEN,
        Answer(
            "OpenAPI 3.1 of what this process serves.",
            {"type": "object", "required": ["openapi", "info", "paths"]},
        ),
    )
    async def openapi(self, _: Request) -> Response:
        """Show this document."""
        return Response(await asyncio.to_thread(lambda: self._document), media_type="application/json")

    @DISCOVERY.route("GET /docs", OPEN, Answer("The page.", {"text/html": str}))
    async def docs(self, _: Request) -> Response:
        """Show this document as a page to read, which needs no other host."""
        text = (files(openapi) / "page.html").read_text("utf-8")
        return Response(text, headers={"content-security-policy": _POLICY}, media_type="text/html")

    @cached_property
    def _document(self) -> bytes:
        return msgspec.json.encode(assemble([*self._served, *(route for route, _ in routes_of(self))]))

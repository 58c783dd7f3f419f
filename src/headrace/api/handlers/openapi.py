"""The OpenAPI document of what this process serves, as JSON and as a page to read."""

from __future__ import annotations

import asyncio
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from headrace.api import openapi
from headrace.api.openapi.document import assemble

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from starlette.requests import Request

    from headrace.api.handlers.handler import Routes

DOCUMENT, PAGE = "/openapi.json", "/docs"
# The page needs nothing but itself and the document, and can't be made to fetch anything else.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class OpenApiHandler:
    """`served` are the paths and methods of the other handlers. The document is made on the first request."""

    def __init__(self, served: Mapping[str, Collection[str]]) -> None:
        self._served = {path: list(methods) for path, methods in served.items()}

    def routes(self) -> Routes:
        """Return the endpoints by path and method."""
        return {DOCUMENT: {"GET": self.document}, PAGE: {"GET": self.page}}

    async def document(self, _: Request) -> Response:
        """Show the OpenAPI document."""
        return Response(await asyncio.to_thread(lambda: self._document), media_type="application/json")

    async def page(self, _: Request) -> Response:
        """Show the page, which reads the document."""
        text = (files(openapi) / "page.html").read_text("utf-8")
        return Response(text, headers={"content-security-policy": _POLICY}, media_type="text/html")

    @cached_property
    def _document(self) -> bytes:
        own = {path: list(methods) for path, methods in self.routes().items()}
        return msgspec.json.encode(assemble(self._served | own))

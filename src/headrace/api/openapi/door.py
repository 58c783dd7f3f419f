"""The door that shows the OpenAPI document, of what a process serves."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from headrace.api.openapi.document import assemble

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from starlette.requests import Request

    from headrace.api.documents import Handler

DOCUMENT = "/openapi.json"


class Description:
    """`served` is what the other doors of this process serve. The document is made once, when it is first asked for."""

    def __init__(self, served: Mapping[str, Collection[str]]) -> None:
        self._served = {path: list(methods) for path, methods in served.items()}

    def served(self) -> dict[str, dict[str, Handler]]:
        """List what is served, and by which methods."""
        return {DOCUMENT: {"GET": self.document}}

    async def document(self, _: Request) -> Response:
        """Show the document of what this process serves."""
        return Response(await asyncio.to_thread(lambda: self._document), media_type="application/json")

    @cached_property
    def _document(self) -> bytes:
        own = {path: list(methods) for path, methods in self.served().items()}
        return msgspec.json.encode(assemble(self._served | own))

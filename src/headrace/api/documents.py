"""JSON documents in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from headrace.errors import PayloadTooLarge

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request

    from headrace.errors import HeadraceError

    Handler = Callable[[Request], Awaitable[Response]]

_MAX_DOCUMENT = 1 << 20


async def read_body(request: Request, most: int = _MAX_DOCUMENT) -> bytes:
    """Read a request's body, as long as it is small."""
    chunks, size = [], 0
    async for chunk in request.stream():
        chunks.append(chunk)
        size += len(chunk)
        if size > most:
            raise PayloadTooLarge("the document", most)
    return b"".join(chunks)


async def read_document(request: Request, fault: HeadraceError) -> Any:
    """Read a request's JSON, or raise the fault."""
    body = await read_body(request)
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise fault from error


def json_response(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with JSON."""
    return Response(msgspec.json.encode(document), status, headers, "application/json")

"""JSON documents in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from headrace.errors import InvalidRequest, PayloadTooLarge

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from starlette.requests import Request

    from headrace.errors import HeadraceError

    Handler = Callable[[Request], Awaitable[Response]]

MAX_DOCUMENT = 1 << 20
"""The bytes of a document, unless a door says otherwise."""


async def read_body(request: Request, most: int = MAX_DOCUMENT) -> bytes:
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


def read_members(
    body: bytes, known: Sequence[str], required: Sequence[str] = (), form: str = ""
) -> dict[str, msgspec.Raw]:
    """Return the members of a JSON object as they stand there: an event's data is not to be altered.

    InvalidRequest lists what is unknown or missing; `form` says what the whole looks like.
    """
    wanted = form or f"the body has to be a JSON object with: {', '.join(known)}"
    try:
        msgspec.json.decode(body)  # raw slices are handed out without a look at what they are
        members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise InvalidRequest([("", wanted)]) from None
    faults = [(name, f"unknown member; {wanted}") for name in members if name not in known]
    faults += [(name, f"is required; {wanted}") for name in required if name not in members]
    if faults:
        raise InvalidRequest(faults)
    return members


def json_response(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with JSON."""
    return Response(msgspec.json.encode(document), status, headers, "application/json")

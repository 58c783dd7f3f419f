"""JSON documents in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from headrace.api.requests.threads import compute
from headrace.documents.json_text import NotJson, read_json
from headrace.errors import InvalidRequest, PayloadTooLarge, UnsupportedFormat
from headrace.events.media_types import essence, is_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from starlette.requests import Request

    from headrace.errors import HeadraceError

    Handler = Callable[[Request], Awaitable[Response]]

# What curl says of any `--data` by itself, and what other clients say of bytes.
_UNSAID = ("application/x-www-form-urlencoded", "application/octet-stream")
MAX_DOCUMENT = 1 << 20
"""The bytes of a document, where the application has no setting for it."""
MAX_EVENT = 1 << 20
"""The bytes of an event that is part of a document, or all of it."""
_SHORT = 1 << 14
"""What is read faster than a thread is asked to."""


def _invalid(problem: str) -> HeadraceError:
    return InvalidRequest([("", problem)])


async def read_body(request: Request, most: int | None = None, extra: int = 0) -> bytes:
    """Read a request's body, as long as it is small: as the settings say of documents, and `extra` bytes more."""
    if most is None:
        most = getattr(request.app.state, "max_document_bytes", MAX_DOCUMENT) + extra
    chunks, size = [], 0
    async for chunk in request.stream():
        chunks.append(chunk)
        size += len(chunk)
        if size > most:
            raise PayloadTooLarge("the document", most)
    return b"".join(chunks)


async def read_document(request: Request, fault: Callable[[str], HeadraceError] = _invalid) -> Any:
    """Read a request's JSON; what is wrong with it is raised as a fault."""
    body = await read_json_body(request)
    try:
        return read_json(body) if len(body) < _SHORT else await compute(read_json, body)
    except NotJson as error:
        raise fault(f"the body is not JSON: {error}") from None


async def read_json_body(request: Request, extra: int = 0) -> bytes:
    """Read a request's body, unless it says that it is something else than JSON."""
    check_media_type(request, is_json, ["application/json"])
    return await read_body(request, extra=extra)


def check_media_type(request: Request, is_read: Callable[[str], bool], supported: Sequence[str]) -> None:
    """Refuse a body of a type that isn't read. One that doesn't say its type is taken for what it should be."""
    media_type = request.headers.get("content-type", _UNSAID[0])
    if essence(media_type) not in _UNSAID and not is_read(media_type):
        raise UnsupportedFormat(media_type, supported)


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


async def json_of(make: Callable[[], Any]) -> Response:
    """Answer with the JSON of something that may be long, made and written in a thread."""
    return Response(await compute(lambda: msgspec.json.encode(make())), media_type="application/json")


def json_response(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with JSON."""
    return Response(msgspec.json.encode(document), status, headers, "application/json")

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
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from starlette.requests import Request

    from headrace.errors import HeadraceError

    Handler = Callable[[Request], Awaitable[Response]]

# The defaults of curl for any `--data`, and of other clients for bytes.
_UNSPECIFIC = ("application/x-www-form-urlencoded", "application/octet-stream")
MAX_DOCUMENT = 1 << 20
"""The largest document, unless the application sets another limit."""
MAX_EVENT = 1 << 20
"""The largest event in a document."""
_SHORT = 1 << 14
"""Smaller documents are parsed faster than they are handed to a thread."""


def _invalid(problem: str) -> HeadraceError:
    return InvalidRequest([("", problem)])


async def read_body(request: Request, most: int | None = None, extra: int = 0) -> bytes:
    """Read a body of at most `most` bytes, by default the limit of documents and `extra` bytes."""
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
    """Read a JSON body; raise `fault` if it isn't JSON."""
    body = await read_json_body(request)
    try:
        return read_json(body) if len(body) < _SHORT else await compute(read_json, body)
    except NotJson as error:
        raise fault(f"the body is not JSON: {error}") from None


async def read_json_body(request: Request, extra: int = 0) -> bytes:
    """Read a body, unless its content type is another than JSON."""
    check_media_type(request, is_json, ["application/json"])
    return await read_body(request, extra=extra)


def check_media_type(request: Request, is_read: Callable[[str], bool], supported: Sequence[str]) -> None:
    """Refuse an unsupported content type. A missing or unspecific one is taken for a supported one."""
    media_type = request.headers.get("content-type", _UNSPECIFIC[0])
    if essence(media_type) not in _UNSPECIFIC and not is_read(media_type):
        raise UnsupportedFormat(media_type, supported)


def read_members(
    body: bytes, known: Collection[str], required: Sequence[str] = (), form: str = ""
) -> dict[str, msgspec.Raw]:
    """Return the members of a JSON object as raw slices, because an event's data must not be altered.

    InvalidRequest lists unknown and missing members; `form` describes the whole body.
    """
    wanted = form or f"the body must be a JSON object with: {', '.join(known)}"
    try:
        msgspec.json.decode(body)  # raw slices are not validated
        members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise InvalidRequest([("", wanted)]) from None
    faults = [(name, f"unknown member; {wanted}") for name in members if name not in known]
    faults += [(name, f"is required; {wanted}") for name in required if name not in members]
    if faults:
        raise InvalidRequest(faults)
    return members


async def compute_json(make: Callable[[], Any]) -> Response:
    """Answer with JSON that may be long, so that it is made and encoded in a thread."""
    return Response(await compute(lambda: msgspec.json.encode(make())), media_type="application/json")


def json_response(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Answer with JSON."""
    return Response(msgspec.json.encode(document), status, headers, "application/json")

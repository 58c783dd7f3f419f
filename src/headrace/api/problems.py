"""Errors as `application/problem+json` (RFC 9457), with the error's stable code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from headrace.errors import HeadraceError, shortened

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

MEDIA_TYPE = "application/problem+json"
_LONGEST_DETAIL = 4000
_MOST_BYTES = 40_000
"""The most that listed faults take of an answer, which stays below 64 kB in all."""
TITLES = {
    400: "Bad request",
    401: "Who are you?",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    412: "Precondition failed",
    408: "Too slow",
    413: "Too large",
    414: "Address too long",
    415: "Unsupported format",
    421: "Wrong host",
    429: "Too many events",
    431: "Headers too large",
    500: "Internal error",
    503: "Unavailable",
    507: "Insufficient storage",
}


async def on_error(_: Request, error: Exception) -> Response:
    """Answer a request that raised a HeadraceError."""
    assert isinstance(error, HeadraceError)  # noqa: S101  registered for these only
    return Response(body_of(error), error.http_status, error.headers(), MEDIA_TYPE)


def on_status(status: int, code: str, detail: str) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Make the handler of an error that the framework itself raises."""

    async def answer(request: Request, error: Exception) -> Response:
        headers = getattr(error, "headers", None)
        body = problem(status, code, detail.format(path=request.url.path, method=request.method))
        return Response(body, status, headers, MEDIA_TYPE)

    return answer


def body_of(error: HeadraceError) -> bytes:
    """Encode the problem document of an error."""
    members = _bounded(**error.members())
    return problem(error.http_status, error.code, shortened(str(error), _LONGEST_DETAIL), **members)


def _bounded(faults: list[Any] | None = None, more: int = 0, **members: Any) -> dict[str, Any]:
    """List only as many faults as fit into an answer, and count the others in `more`."""
    if faults is None:
        return members
    listed = faults
    while len(listed) > 1 and len(msgspec.json.encode(listed)) > _MOST_BYTES:
        listed = listed[: len(listed) // 2]
    more += len(faults) - len(listed)
    return {"faults": listed} | ({"more": more} if more else {}) | members


def problem(status: int, code: str, detail: str, **extra: Any) -> bytes:
    """Encode a problem document."""
    return msgspec.json.encode(
        {
            "type": f"urn:headrace:{code}",
            "title": TITLES[status],
            "status": status,
            "code": code,
            "detail": detail,
        }
        | extra
    )

"""Errors as `application/problem+json` (RFC 9457), with the error's stable code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from headrace.errors import (
    MOST_FAULTS,
    BrokerUnavailable,
    Conflict,
    CrossOrigin,
    DeliveryBehind,
    DiskNearlyFull,
    FilterError,
    Forbidden,
    HeadraceError,
    InterestRefused,
    InvalidChannel,
    InvalidEvent,
    InvalidImport,
    InvalidManifest,
    InvalidRequest,
    InvalidSubscription,
    IssuerUnavailable,
    LogBehind,
    LogUnavailable,
    NoDispatcher,
    NotFound,
    PayloadTooLarge,
    PreconditionFailed,
    QuotaExceeded,
    RateExceeded,
    SecretsLocked,
    SentTooSlowly,
    StoreUnavailable,
    TextFault,
    Unauthenticated,
    UnsupportedFormat,
    WrongHost,
    shortened,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MEDIA_TYPE = "application/problem+json"
_LONGEST_DETAIL = 4000
_MOST_BYTES = 40_000
"""What faults may take of an answer, which has less than 64 kB with all else in it."""
_STATUS: dict[type[HeadraceError], int] = {
    InvalidEvent: 400,
    FilterError: 400,
    InvalidSubscription: 400,
    InvalidImport: 400,
    InvalidManifest: 400,
    InvalidRequest: 400,
    InvalidChannel: 400,
    Unauthenticated: 401,
    CrossOrigin: 403,
    WrongHost: 421,
    Forbidden: 403,
    QuotaExceeded: 403,
    InterestRefused: 403,
    NotFound: 404,
    Conflict: 409,
    PreconditionFailed: 412,
    PayloadTooLarge: 413,
    SentTooSlowly: 408,
    UnsupportedFormat: 415,
    LogBehind: 429,
    DeliveryBehind: 429,
    RateExceeded: 429,
    DiskNearlyFull: 507,
    LogUnavailable: 503,
    StoreUnavailable: 503,
    IssuerUnavailable: 503,
    BrokerUnavailable: 503,
    SecretsLocked: 503,
    NoDispatcher: 503,
}
_PASSING = (
    LogBehind
    | DeliveryBehind
    | RateExceeded
    | DiskNearlyFull
    | LogUnavailable
    | StoreUnavailable
    | IssuerUnavailable
)
_FAULTY = InvalidSubscription | InvalidRequest | InvalidChannel | InvalidManifest
_TITLES = {
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


def status_of(error: HeadraceError) -> int:
    """Return the HTTP status that fits the error."""
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)


def headers_of(error: HeadraceError) -> dict[str, str]:
    """Return the headers that go with it: when to try again, how to say who one is, what the thing is now."""
    if isinstance(error, PreconditionFailed):
        return {"etag": error.etag}
    if isinstance(error, _PASSING):
        return {"retry-after": str(error.retry_after)}
    if isinstance(error, Unauthenticated):
        return {"www-authenticate": error.challenge}
    return {}


def body_of(error: HeadraceError) -> bytes:
    """Encode the problem document; the first faults stand in `faults`, and in `more` how many others there are."""
    extra: dict[str, Any] = {}
    if isinstance(error, InvalidEvent):
        extra = _bounded([shortened(each) for each in error.faults[:MOST_FAULTS]], error.faults, error.more)
        extra |= {"unexamined": error.unexamined} if error.unexamined else {}
    elif isinstance(error, _FAULTY) and error.faults:
        extra = _bounded([_fault(*each) for each in error.faults[:MOST_FAULTS]], error.faults)
    elif isinstance(error, FilterError):
        limit = {} if error.limit is None else {"limit": error.limit}
        extra["faults"] = [_fault(error.path, error.detail) | limit]
    elif isinstance(error, QuotaExceeded):
        extra |= {"quota": error.quota, "limit": error.limit, "current": error.current}
    elif isinstance(error, PreconditionFailed):
        extra["etag"] = error.etag
    elif isinstance(error, InvalidImport):
        extra |= {"refused": error.refused, "lines": lines_of(error.lines)}
    return problem(status_of(error), error.code, shortened(str(error), _LONGEST_DETAIL), **extra)


def _bounded(told: Sequence[Any], faults: Sequence[Any], more: int = 0) -> dict[str, Any]:
    """Return as many of the faults as go into an answer, and how many more there are."""
    while len(told) > 1 and len(msgspec.json.encode(told)) > _MOST_BYTES:
        told = told[: len(told) // 2]
    more += len(faults) - len(told)
    return {"faults": told} | ({"more": more} if more else {})


def _fault(path: str, problem: str) -> dict[str, Any]:
    """Tell of one property; where the fault lies in a text, also where in it."""
    where = problem.document() if isinstance(problem, TextFault) else {}
    return {"path": shortened(path), "problem": shortened(str(problem)), **where}


def lines_of(refusals: Iterable[tuple[int, Sequence[tuple[str, str]]]]) -> list[dict[str, Any]]:
    """Write the numbers of lines, each with what is wrong with it."""
    return [
        {"line": number, "faults": [_fault(*each) for each in faults[:MOST_FAULTS]]}
        for number, faults in refusals
    ]


def problem(status: int, code: str, detail: str, **extra: Any) -> bytes:
    """Encode a problem document."""
    return msgspec.json.encode(
        {
            "type": f"urn:headrace:{code}",
            "title": _TITLES[status],
            "status": status,
            "code": code,
            "detail": detail,
        }
        | extra
    )

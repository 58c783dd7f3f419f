"""The members of a delivery object: each reads a value into the fields of the spec that it sets.

The bounds are what a tenant can't pass. They keep one subscription from holding a dispatcher's memory or sockets for
long; what is sensible below them is the tenant's to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.documents.addresses import WEB_ADDRESS, address_schema
from headrace.documents.durations import DURATION, read_duration, write_duration
from headrace.documents.whole_numbers import whole_number
from headrace.protocols import check_sink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_DAY, _HOUR, _MINUTE = 86400.0, 3600.0, 60.0
_MOST_RETRIES = 1000
_MOST_AT_A_TIME = 1000
_MOST_IN_A_BATCH = 1000
HIGHEST_RATE = 100_000


class Refused(Exception):
    """A member that can't be used: what is wrong, at which place inside of it."""

    def __init__(self, problem: str, inner: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.inner = inner


@dataclass(frozen=True, slots=True)
class Member:
    """`read` raises Refused; `schema` is the same as JSON Schema, and never refuses what is read."""

    schema: Mapping[str, Any]
    read: Callable[[Any], dict[str, Any]]

    def __call__(self, value: Any) -> dict[str, Any]:
        """Return the fields that the value sets."""
        return self.read(value)


def _whole(field: str, least: int, most: int) -> Member:
    def read(value: Any) -> dict[str, Any]:
        number = whole_number(value)
        if number is None or not least <= number <= most:
            raise Refused(f"{value!r} is no whole number from {least} to {most}")
        return {field: number}

    return Member({"type": "integer", "minimum": least, "maximum": most}, read)


def _one_of(field: str, allowed: Iterable[str]) -> Member:
    names = tuple(allowed)

    def read(value: Any) -> dict[str, Any]:
        if value not in names:
            raise Refused(f"{value!r} is not one of {', '.join(names)}")
        return {field: value}

    return Member({"enum": list(names)}, read)


def _duration(field: str, most: float, *, may_be_zero: bool = True) -> Member:
    def read(value: Any) -> dict[str, Any]:
        seconds = read_duration(value)
        if seconds is None:
            raise Refused(
                f"{value!r} is no duration; write ISO 8601 without years and months, such as PT0.5S or P1D"
            )
        if seconds > most or (seconds == 0 and not may_be_zero):
            least = "PT0S" if may_be_zero else "more than PT0S"
            raise Refused(f"{value!r} can't be used; it may be from {least} to {write_duration(most)}")
        return {field: seconds}

    limits = f"{'from PT0S' if may_be_zero else 'above PT0S'} to {write_duration(most)}"
    return Member({**DURATION, "description": limits}, read)


def is_rate(value: object) -> bool:
    """Tell whether it is a number of events a second that can be asked for."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= HIGHEST_RATE


def _rate(value: Any) -> dict[str, Any]:
    if not is_rate(value):
        raise Refused(f"{value!r} is no number of events a second above 0 and up to {HIGHEST_RATE}")
    return {"rate": float(value)}


RATE = {"type": "number", "exclusiveMinimum": 0, "maximum": HIGHEST_RATE}
"""What `is_rate` takes, as JSON Schema."""


DESTINATION = {
    "type": "object",
    "required": ["uri"],
    "properties": {"uri": address_schema(WEB_ADDRESS)},
    "additionalProperties": False,
}
"""What `read_destination` takes, as JSON Schema."""


def read_destination(value: Any) -> str:
    """Read an address as Knative writes one, `{"uri": …}`; Refused says what is wrong."""
    if not isinstance(value, dict):
        raise Refused('has to be an object of the form {"uri": "http://…"}')
    if "ref" in value:
        raise Refused("this service looks no Kubernetes object up; give its address as uri", ".ref")
    for key in value:
        if key != "uri":
            raise Refused('unknown member; an address is {"uri": "http://…"}', f".{key}")
    for _, problem in check_sink("HTTP", value.get("uri")):
        raise Refused(problem, ".uri")
    return str(value["uri"])


def _dead_letter_sink(value: Any) -> dict[str, Any]:
    return {"dead_letter_sink": read_destination(value)}


_BATCH = {"size": _whole("batch_size", 1, _MOST_IN_A_BATCH), "age": _duration("batch_age", _MINUTE)}
_BATCH_SCHEMA = {
    "type": "object",
    "required": ["size"],
    "properties": {name: member.schema for name, member in _BATCH.items()},
    "additionalProperties": False,
}


def _batch(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or "size" not in value:
        raise Refused('has to be an object of the form {"size": 100, "age": "PT0.2S"}; size is required')
    given: dict[str, Any] = {}
    for name, member in value.items():
        if name not in _BATCH:
            raise Refused(f"unknown member; batch has: {', '.join(_BATCH)}", f".{name}")
        try:
            given |= _BATCH[name](member)
        except Refused as refused:
            raise Refused(refused.problem, f".{name}") from None
    return given


MEMBERS: dict[str, Member] = {
    "retry": _whole("retry", 0, _MOST_RETRIES),
    "backoffPolicy": _one_of("backoff_policy", ("linear", "exponential")),
    "backoffDelay": _duration("backoff_delay", _DAY),
    "timeout": _duration("timeout", _HOUR, may_be_zero=False),
    "retryAfterMax": _duration("retry_after_max", _DAY),
    "deadLetterSink": Member(DESTINATION, _dead_letter_sink),
    "format": _one_of("format", ("binary", "json")),
    "ordering": _one_of("ordering", ("unordered", "ordered", "partitionkey")),
    "concurrency": _whole("concurrency", 1, _MOST_AT_A_TIME),
    "rate": Member(RATE, _rate),
    "batch": Member(_BATCH_SCHEMA, _batch),
}

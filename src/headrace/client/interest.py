"""The interest of a channel's subscriptions, as a publisher received it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from headrace import filters
from headrace.errors import FilterError, HeadraceError, ServiceUnreachable, UnreadableExport
from headrace.events.bindings.http import decode, encode_binary, encode_structured
from headrace.events.event import DataKind
from headrace.filters.upstream.bloom import ExportedBloom
from headrace.filters.upstream.sieve import Sieve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.events.bindings.http import HttpMessage
    from headrace.events.event import Event

InterestKind: TypeAlias = Literal["cel", "bloom"]
PATHS: dict[str, str] = {"cel": "interest", "bloom": "interest/bloom"}
_MAX_AGE = "headrace-max-age"


@dataclass(frozen=True, slots=True)
class ReceivedInterest:
    """`wants` is true for every event that a subscription matches; it may be used for `max_age` seconds."""

    wants: Callable[[Event], bool]
    tag: str
    max_age: float


def read_cel(headers: Mapping[str, str], content: bytes) -> ReceivedInterest:
    """Parse an expression; raise ServiceUnreachable if the answer isn't one."""
    try:
        document = msgspec.json.decode(content, type=dict[str, Any])
        sieve = Sieve(filters.compile_filter({"cel": document["cel"]}))
        return ReceivedInterest(sieve.matches, headers["etag"], float(document["maxAge"]))
    except (msgspec.DecodeError, LookupError, ValueError, TypeError, FilterError) as error:
        raise ServiceUnreachable("the interest", f"it can't be read: {error}") from error


def read_bloom(headers: Mapping[str, str], content: bytes) -> ReceivedInterest:
    """Parse a Bloom filter; raise ServiceUnreachable if the answer isn't one of this version."""
    try:
        bloom = ExportedBloom.from_bytes(content)
        return ReceivedInterest(bloom.may_match, headers["etag"], float(headers[_MAX_AGE]))
    except (UnreadableExport, LookupError, ValueError) as error:
        raise ServiceUnreachable("the interest", f"it can't be read: {error}") from error


READERS: dict[str, Callable[[Mapping[str, str], bytes], ReceivedInterest]] = {
    "cel": read_cel,
    "bloom": read_bloom,
}


def may_be_wanted(wants: Callable[[Event], bool], event: Event) -> bool:
    """Tell whether an event is wanted as the service would see it, in either content mode.

    An event that can't be sent, or that the service would refuse, is not dropped, so that its publisher gets the error.
    """
    try:
        return any(
            wants(seen)
            for message in _messages(event)
            for seen in decode(
                [(name.encode(), value.encode()) for name, value in message.headers], message.body
            )
        )
    except (HeadraceError, TypeError, ValueError):
        return True


def _messages(event: Event) -> list[HttpMessage]:
    """Return the messages that may carry an event. In headers attributes become strings, and the log keeps them so."""
    is_plain = event.data_kind is DataKind.BYTES and all(
        isinstance(value, str) for value in event.attributes.values()
    )
    return [encode_binary(event)] if is_plain else [encode_binary(event), encode_structured(event)]

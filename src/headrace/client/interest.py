"""What a publisher was told that a channel's subscriptions want."""

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

    from headrace.events.bindings.http import Message
    from headrace.events.event import Event

Kind: TypeAlias = Literal["cel", "bloom"]
PATHS: dict[str, str] = {"cel": "interest", "bloom": "interest/bloom"}
_MAX_AGE = "headrace-max-age"


@dataclass(frozen=True, slots=True)
class Told:
    """`wants` says yes to every event that a subscription matches, those of `max_age` seconds ago at least."""

    wants: Callable[[Event], bool]
    tag: str
    max_age: float


def read_cel(headers: Mapping[str, str], content: bytes) -> Told:
    """Read an expression; ServiceUnreachable where what answers isn't Headrace."""
    try:
        document = msgspec.json.decode(content, type=dict[str, Any])
        sieve = Sieve(filters.compile_filter({"cel": document["cel"]}))
        return Told(sieve.matches, headers["etag"], float(document["maxAge"]))
    except (msgspec.DecodeError, LookupError, ValueError, TypeError, FilterError) as error:
        raise ServiceUnreachable("the interest", f"it can't be read: {error}") from error


def read_bloom(headers: Mapping[str, str], content: bytes) -> Told:
    """Read a Bloom filter; ServiceUnreachable where what answers isn't Headrace, or another version."""
    try:
        bloom = ExportedBloom.from_bytes(content)
        return Told(bloom.may_match, headers["etag"], float(headers[_MAX_AGE]))
    except (UnreadableExport, LookupError, ValueError) as error:
        raise ServiceUnreachable("the interest", f"it can't be read: {error}") from error


READERS: dict[str, Callable[[Mapping[str, str], bytes], Told]] = {"cel": read_cel, "bloom": read_bloom}


def may_be_wanted(wants: Callable[[Event], bool], event: Event) -> bool:
    """Ask about an event as the service will see it, in whichever way it is sent.

    What can't be sent, or what the service would refuse, is not dropped: who publishes it has to hear of that.
    """
    try:
        return any(
            wants(seen)
            for message in _ways(event)
            for seen in decode(
                [(name.encode(), value.encode()) for name, value in message.headers], message.body
            )
        )
    except (HeadraceError, TypeError, ValueError):
        return True


def _ways(event: Event) -> list[Message]:
    """Return the messages that may carry it. In headers attributes become texts, and a log may keep them so."""
    is_plain = event.data_kind is DataKind.BYTES and all(
        isinstance(value, str) for value in event.attributes.values()
    )
    return [encode_binary(event)] if is_plain else [encode_binary(event), encode_structured(event)]

"""The events of what waits to be pulled: in the row itself, in the log, or in the replay they belong to."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import InvalidEvent
from headrace.events.json_format import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from headrace.events import Event
    from headrace.events.recorded import Recorded
    from headrace.ledger.pull.mailboxes import Message

    ReplayedAt = Callable[[str, Collection[int]], Mapping[int, Recorded]]
    """Reads events of a replay; what it has no more is left out, and all of one that is over."""


class Sources(NamedTuple):
    """Where events are read from: the log, and replays by their names."""

    logged_at: Callable[[Iterable[int]], Mapping[int, Recorded]]
    replayed_at: ReplayedAt


def read_messages(messages: Iterable[Message], sources: Sources) -> dict[int, Event]:
    """Return the events of messages, by their numbers; what can't be read any more is left out."""
    found: dict[int, Event] = {}
    elsewhere: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for message in messages:
        if message.event is None:
            elsewhere[message.replay][message.position] = message.number
        elif (event := _decoded(bytes(message.event))) is not None:
            found[message.number] = event
    for replay, numbers in elsewhere.items():
        recorded = sources.replayed_at(replay, numbers) if replay else sources.logged_at(numbers)
        found |= {numbers[position]: each.event for position, each in recorded.items()}
    return found


def _decoded(event: bytes) -> Event | None:
    try:
        return decode(event)
    except InvalidEvent:
        return None

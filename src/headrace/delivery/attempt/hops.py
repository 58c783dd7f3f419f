"""What goes round: replies and dead letters carry how many more may follow them, so that no circle is endless.

The counter is Knative's extension `knativebrokerttl`. It is written on what a sink answers with and on dead letters,
never on the event that a sink is sent. A sink can't raise it: what counts is the event that was answered.
"""

from __future__ import annotations

import re

from headrace.events.event import Event

HOPS = "knativebrokerttl"
MOST_HOPS = 255
"""Where an event without a counter starts, as in Knative. More than that is read as this."""

_WHOLE = re.compile(r"-?[0-9]{1,9}", re.ASCII)


def hops_left(event: Event) -> int:
    """Return how many hops may still follow an event; what can't be read as a number is no counter."""
    value = event.attributes.get(HOPS)
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return MOST_HOPS
    return max(0, min(value, MOST_HOPS))


def answer_to(event: Event, reply: Event) -> Event | None:
    """Return a reply as it goes on, with one hop less than the event had; None where that has none left."""
    left = hops_left(event)
    if left == 0:
        return None
    return Event({**reply.attributes, HOPS: left - 1}, reply.data, reply.data_kind)

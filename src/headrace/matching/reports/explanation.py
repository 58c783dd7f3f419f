"""Why a subscription sees an event or doesn't: its scope, then its filter, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.events.recorded import Recorded
from headrace.filters.backends.cel import write_literal
from headrace.filters.explanation import Explanation
from headrace.filters.truth import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.events.event import Event
    from headrace.filters.filter import Filter
    from headrace.matching.scope import Scope

_UNKNOWN = "the filter is unknown, which doesn't match"


def explain_subscription(
    subscription: str, filter_: Filter, scope: Scope | None, event: Event | Recorded
) -> Explanation:
    """Say whether the subscription sees the event, and why: true exactly where it matches, else false."""
    place, wanted = explain_scope(scope, event), filter_.explain(event)
    sees = place.value is True and wanted.value is True
    reason = _UNKNOWN if place.value is True and wanted.value is UNKNOWN else ""
    return Explanation(f"subscription {subscription!r} sees the event", sees, reason, (place, wanted))


def explain_scope(scope: Scope | None, event: Event | Recorded) -> Explanation:
    """Say whether a scope admits the event, one line for everything that it may ask."""
    if scope is None:
        return Explanation("scope", value=True, reason="none: it sees every channel and bare events")
    lines = (_channel(scope, event), *narrowings(scope, event, everything=True))
    return Explanation("scope", all(line.value is True for line in lines), parts=lines)


def narrowings(scope: Scope | None, event: Event | Recorded, *, everything: bool) -> tuple[Explanation, ...]:
    """Return a line for each condition that narrows the channel; with `everything` also for those not set."""
    if scope is None:
        return ()
    lines = (_source(scope, event), _types(scope, event), _created(scope, event), _deleted(scope, event))
    is_set = (scope.source is not None, bool(scope.types), scope.created > 0, scope.deleted is not None)
    return tuple(line for line, each in zip(lines, is_set, strict=True) if each or everything)


def _channel(scope: Scope, event: Event | Recorded) -> Explanation:
    clause = f"channel is {scope.namespace}/{scope.channel}"
    if not isinstance(event, Recorded):
        return Explanation(clause, value=False, reason="a bare event is in no channel")
    arrival = event.arrival
    is_there = (arrival.namespace, arrival.channel) == scope.address
    return Explanation(clause, is_there, f"the event is in {arrival.namespace}/{arrival.channel}")


def _source(scope: Scope, event: Event | Recorded) -> Explanation:
    found = _attribute(event, "source")
    if scope.source is None:
        return Explanation("any source", value=True, reason=_named("ce.source", found))
    clause = f"source is {write_literal(scope.source)}"
    return Explanation(clause, found == scope.source, _named("ce.source", found))


def _types(scope: Scope, event: Event | Recorded) -> Explanation:
    found = _attribute(event, "type")
    if not scope.types:
        return Explanation("any type", value=True, reason=_named("ce.type", found))
    clause = f"type is one of {_listed(scope.types)}"
    return Explanation(clause, found in scope.types, _named("ce.type", found))


def _created(scope: Scope, event: Event | Recorded) -> Explanation:
    clause = f"position is at least {scope.created}, where it was created"
    if not isinstance(event, Recorded):
        return Explanation(clause, value=False, reason="a bare event has no position")
    return Explanation(clause, event.position >= scope.created, f"the event is at {event.position}")


def _deleted(scope: Scope, event: Event | Recorded) -> Explanation:
    if scope.deleted is None:
        return Explanation("it isn't deleted", value=True)
    clause = f"position is below {scope.deleted}, where it was deleted"
    if not isinstance(event, Recorded):
        return Explanation(clause, value=False, reason="a bare event has no position")
    return Explanation(clause, event.position < scope.deleted, f"the event is at {event.position}")


def _attribute(event: Event | Recorded, name: str) -> object:
    attributes = event.event.attributes if isinstance(event, Recorded) else event.attributes
    return attributes.get(name)


def _named(name: str, value: object) -> str:
    if value is None:
        return f"{name} is missing"
    shown = write_literal(value) if isinstance(value, str | bool | int | float) else repr(value)
    return f"{name} is {shown}"


def _listed(types: Iterable[str]) -> str:
    return ", ".join(map(write_literal, types))

"""Filters on their own: what one means, what it costs, and why it matches an event.

Nothing is stored, and the log isn't read; `history.py` has the backtest.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.api.requests.documents import MAX_EVENT, compute_json, read_json_body, read_members
from headrace.errors import InvalidChannel, InvalidRequest
from headrace.events.json_format import decode
from headrace.events.recorded import Arrival, Recorded
from headrace.filters import compile_filter
from headrace.filters.bounds.limits import DEFAULT_LIMITS
from headrace.filters.bounds.sizes import sizes_of
from headrace.subscriptions.channels.name import DEFAULT_CHANNEL, parse_channel
from headrace.subscriptions.points import parse_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.api.handlers.handler import Routes
    from headrace.filters import Filter

_COMPILE = ("filter", "filters")
_EXPLAIN = (*_COMPILE, "event", "channel", "publishTime")


class FiltersHandler:
    """The cost of a filter is bounded, but too high for the event loop: filters are compiled in threads."""

    def routes(self) -> Routes:
        """Return the endpoints by path and method."""
        return {
            "/api/filters/compile": {"POST": self.compile},
            "/api/filters/explain": {"POST": self.explain},
        }

    async def compile(self, request: Request) -> Response:
        """Show a filter as CEL, and how much of each limit it uses."""
        body = await read_json_body(request)
        return await compute_json(lambda: _described(_filter_of(read_members(body, _COMPILE))))

    async def explain(self, request: Request) -> Response:
        """Explain, clause by clause, why a filter matches an event or doesn't."""
        body = await read_json_body(request, extra=MAX_EVENT)
        return await compute_json(lambda: _explained(read_members(body, _EXPLAIN, required=("event",))))


def _described(wanted: Filter) -> dict[str, Any]:
    limits = asdict(DEFAULT_LIMITS)
    cost = {name: {"used": used, "limit": limits[name]} for name, used in sizes_of(wanted.expression).items()}
    return {"cel": wanted.cel, "notes": list(wanted.notes), "cost": cost}


def _explained(members: Mapping[str, msgspec.Raw]) -> dict[str, Any]:
    wanted, event = _filter_of(members), _event_of(members)
    explanation = wanted.explain(event)
    return {
        "matches": wanted.matches(event),
        "explanation": explanation.document(),
        "text": str(explanation),
        "notes": list(wanted.notes),
    }


def _filter_of(members: Mapping[str, msgspec.Raw]) -> Filter:
    given = [name for name in _COMPILE if name in members]
    if len(given) != 1:
        raise InvalidRequest([("filter", "give either filter or filters")])
    return compile_filter(msgspec.json.decode(members[given[0]]))


def _event_of(members: Mapping[str, msgspec.Raw]) -> Recorded:
    """Return the event as the log would hold it, so that filters can use its channel and publish time."""
    event, faults = decode(bytes(members["event"])), list[tuple[str, str]]()
    given = {
        name: msgspec.json.decode(members[name]) for name in ("channel", "publishTime") if name in members
    }
    channel = DEFAULT_CHANNEL
    try:
        channel = parse_channel(given.get("channel", str(DEFAULT_CHANNEL)))
    except InvalidChannel as error:
        faults.append(("channel", str(error)))
    milliseconds = parse_time(given.get("publishTime"), "publishTime", faults)
    if faults:
        raise InvalidRequest(faults)
    published = time.time_ns() // 1000 if milliseconds is None else milliseconds * 1000
    return Recorded(0, published, Arrival(event, channel.namespace, channel.name))

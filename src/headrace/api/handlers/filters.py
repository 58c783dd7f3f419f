"""Filters on their own: what one means, what it costs, and why it matches an event.

Nothing is stored, and the log isn't read; `history.py` has the backtest.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.api.access.permissions import known
from headrace.api.answers.events import CLOUD_EVENT
from headrace.api.answers.filters import CompiledFilter, Explained
from headrace.api.openapi.operation import Answer, Body
from headrace.api.requests.documents import MAX_EVENT, compute_json, read_json_body, read_members
from headrace.api.routes.tags import FILTERS
from headrace.documents.filter_schemas import EITHER_FILTER, EXACTLY_ONE_FILTER
from headrace.documents.schemas import Named, described, nullable, record
from headrace.errors import InvalidChannel, InvalidRequest
from headrace.events.json_format import decode
from headrace.events.recorded import Arrival, Recorded
from headrace.filters import compile_filter
from headrace.filters.bounds.limits import DEFAULT_LIMITS
from headrace.filters.bounds.sizes import sizes_of
from headrace.subscriptions.channels.name import CHANNEL_NAME, DEFAULT_CHANNEL, parse_channel
from headrace.subscriptions.points import TIME, parse_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.filters import Filter

_EXPLAIN = {
    **EITHER_FILTER,
    "event": CLOUD_EVENT,
    "channel": described(CHANNEL_NAME, "The channel that has accepted it; `default/default` unless given."),
    "publishTime": {"description": "When it was accepted; now unless given.", **nullable(TIME)},
}
_COMPILE_REQUEST = Named(
    "CompileRequest",
    record(
        EITHER_FILTER,
        oneOf=EXACTLY_ONE_FILTER,
        examples=[{"filter": {"sql": "source LIKE '%cloudevents%'"}}],
    ),
)
_EXPLAIN_REQUEST = Named(
    "ExplainRequest",
    record(
        _EXPLAIN,
        ["event"],
        oneOf=EXACTLY_ONE_FILTER,
        examples=[
            {
                "filter": {"cel": "data.amount > 5"},
                "event": {
                    "specversion": "1.0",
                    "id": "1",
                    "source": "/shop",
                    "type": "order",
                    "data": {"amount": 7},
                },
            }
        ],
    ),
)


class FiltersHandler:
    """The cost of a filter is bounded, but too high for the event loop: filters are compiled in threads."""

    @FILTERS.route(
        "POST /api/filters/compile",
        known(),
        Answer("The filter is one that a subscription may have.", CompiledFilter),
        body=Body(_COMPILE_REQUEST),
    )
    async def compile_filter(self, request: Request) -> Response:
        """Tell what a filter means, as CEL, and what it costs."""
        body = await read_json_body(request)
        return await compute_json(lambda: _described(_filter_of(read_members(body, EITHER_FILTER))))

    @FILTERS.route(
        "POST /api/filters/explain",
        known(),
        Answer("Whether it holds, and why.", Explained),
        body=Body(_EXPLAIN_REQUEST),
    )
    async def explain_filter(self, request: Request) -> Response:
        """Tell, clause by clause, why a filter holds on an event or doesn't."""
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
    given = [name for name in EITHER_FILTER if name in members]
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

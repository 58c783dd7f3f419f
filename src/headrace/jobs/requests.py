"""What can be asked for, checked: the API turns documents into these, and the pipeline reads them back from a job.

Each has `document()`, which its parser reads back as the same request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.documents.filter_schemas import EITHER_FILTER, EXACTLY_ONE_FILTER, FILTER_OR_FILTERS
from headrace.documents.schemas import Named, nullable, record
from headrace.documents.whole_numbers import whole_number
from headrace.errors import InvalidChannel, InvalidRequest
from headrace.subscriptions.channels.name import CHANNEL_NAME, DEFAULT_CHANNEL, ChannelName, parse_channel
from headrace.subscriptions.delivery.members import HIGHEST_RATE, RATE, is_rate
from headrace.subscriptions.points import EARLIEST, POINT, TIME, Point, check_filter, parse_point, parse_time

if TYPE_CHECKING:
    from collections.abc import Collection

    from headrace.documents.faults import Faults

SEEK, BACKTEST, REPLAY, CATCH_UP = "seek", "backtest", "replay", "catch-up"
KINDS = (SEEK, BACKTEST, REPLAY, CATCH_UP)
_EXAMPLES, _MOST_EXAMPLES = 5, 100
_BUCKETS, _MOST_BUCKETS = 60, 1000
_UINT64 = range(2**64)
_ID = {"type": ["integer", "null"], "minimum": 0, "maximum": _UINT64.stop - 1}
_SEEK = {
    "to": POINT,
    "dryRun": {"type": "boolean", "default": False, "description": "Only tell the position."},
    "consumerId": _ID,
    "requestId": _ID,
}
_REPLAY = {
    "from": POINT,
    "to": POINT,
    "filter": nullable(FILTER_OR_FILTERS),
    "rate": {**nullable(RATE), "description": "Events a second."},
}
_BACKTEST = {
    **EITHER_FILTER,
    "channel": CHANNEL_NAME,
    "from": nullable(TIME),
    "to": nullable(TIME),
    "examples": {"type": "integer", "minimum": 0, "maximum": _MOST_EXAMPLES, "default": _EXAMPLES},
    "buckets": {"type": "integer", "minimum": 0, "maximum": _MOST_BUCKETS, "default": _BUCKETS},
}
SEEK_REQUEST = Named(
    "SeekRequest", record(_SEEK, ["to"], examples=[{"to": {"time": "2026-01-31T12:00:00Z"}}])
)
REPLAY_REQUEST = Named("ReplayRequest", record(_REPLAY, examples=[{"from": EARLIEST, "rate": 100}]))
BACKTEST_REQUEST = Named(
    "BacktestRequest",
    record(
        _BACKTEST,
        oneOf=EXACTLY_ONE_FILTER,
        examples=[{"filter": {"prefix": {"type": "com.example."}}, "channel": str(DEFAULT_CHANNEL)}],
    ),
)


@dataclass(frozen=True, slots=True)
class SeekRequest:
    """Deliver a subscription from a point on; a dry run only tells the position. The ids are the caller's own."""

    to: Point
    dry_run: bool = False
    consumer_id: int | None = None
    request_id: int | None = None

    def document(self) -> dict[str, Any]:
        """Write it as JSON."""
        members = {
            "to": self.to.document(),
            "dryRun": self.dry_run or None,
            "consumerId": self.consumer_id,
            "requestId": self.request_id,
        }
        return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """Deliver the events from a point to another one, those that also match `filter`, at most `rate` a second.

    Without an end it is where the log ends when the work begins; for a catch-up, where the subscription became live.
    """

    from_: Point
    to: Point | None = None
    filter: Any = None
    rate: float | None = None

    def document(self) -> dict[str, Any]:
        """Write it as JSON."""
        members = {
            "from": self.from_.document(),
            "to": None if self.to is None else self.to.document(),
            "filter": self.filter,
            "rate": self.rate,
        }
        return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True, slots=True)
class BacktestRequest:
    """Count a channel's past events that filters match, accepted from `from_` to before `to` (milliseconds)."""

    filters: tuple[Any, ...]
    channel: ChannelName = DEFAULT_CHANNEL
    from_: int | None = None
    to: int | None = None
    examples: int = _EXAMPLES
    buckets: int = _BUCKETS

    def document(self) -> dict[str, Any]:
        """Write it as JSON."""
        members = {
            "filters": list(self.filters),
            "channel": str(self.channel),
            "from": self.from_,
            "to": self.to,
            "examples": self.examples,
            "buckets": self.buckets,
        }
        return {name: value for name, value in members.items() if value is not None}


def parse_seek(document: object) -> SeekRequest:
    """Check a request to seek; InvalidRequest lists every fault with its path."""
    members, faults = _members(document, _SEEK)
    to = _required_point(members, "to", faults)
    dry_run = members.get("dryRun", False)
    if not isinstance(dry_run, bool):
        faults.append(("dryRun", "has to be true or false"))
    ids = [_id(members, name, faults) for name in ("consumerId", "requestId")]
    _refuse(faults)
    return SeekRequest(to, dry_run, *ids)


def parse_replay(document: object) -> ReplayRequest:
    """Check a request to replay; InvalidRequest lists every fault with its path."""
    members, faults = _members(document, _REPLAY)
    from_ = parse_point(members.get("from", EARLIEST), "from", faults)
    to = parse_point(members["to"], "to", faults) if "to" in members else None
    if members.get("filter") is not None:
        check_filter(members["filter"], "filter", faults)
    rate = members.get("rate")
    if rate is not None and not is_rate(rate):
        faults.append(("rate", f"{rate!r} is no number of events a second above 0 and up to {HIGHEST_RATE}"))
    _refuse(faults)
    return ReplayRequest(from_, to, members.get("filter"), None if rate is None else float(rate))


def parse_backtest(document: object) -> BacktestRequest:
    """Check a request to test a filter on the past; InvalidRequest lists every fault with its path."""
    members, faults = _members(document, _BACKTEST)
    given = [name for name in ("filter", "filters") if name in members]
    if len(given) != 1 or members[given[0]] is None:
        faults.append(("filter", "give either filter or filters"))
    for name in given[:1]:
        check_filter(members[name], name, faults)
    filters = members.get("filters", members.get("filter", []))
    start, end = (parse_time(members.get(name), name, faults) for name in ("from", "to"))
    if start is not None and end is not None and start >= end:
        faults.append(("to", "has to be later than from"))
    request = BacktestRequest(
        tuple(filters if isinstance(filters, list) else [filters]),
        _channel(members, faults),
        start,
        end,
        _count(members, "examples", _EXAMPLES, _MOST_EXAMPLES, faults),
        _count(members, "buckets", _BUCKETS, _MOST_BUCKETS, faults),
    )
    _refuse(faults)
    return request


def _members(document: object, known: Collection[str]) -> tuple[dict[str, Any], Faults]:
    if not isinstance(document, dict):
        raise InvalidRequest([("", f"the body has to be a JSON object with: {', '.join(known)}")])
    unknown = [str(key) for key in document if key not in known]
    return document, [(key, f"unknown member; this request has: {', '.join(known)}") for key in unknown]


def _required_point(members: dict[str, Any], name: str, faults: Faults) -> Point:
    if name in members:
        return parse_point(members[name], name, faults)
    faults.append((name, "is required"))
    return Point()


def _channel(members: dict[str, Any], faults: Faults) -> ChannelName:
    try:
        return parse_channel(members.get("channel", str(DEFAULT_CHANNEL)))
    except InvalidChannel as error:
        faults.append(("channel", str(error)))
        return DEFAULT_CHANNEL


def _id(members: dict[str, Any], name: str, faults: Faults) -> int | None:
    value = members.get(name)
    number = whole_number(value)
    if value is not None and (number is None or number not in _UINT64):
        faults.append((name, f"{value!r} is no whole number of 64 bits, without a sign"))
    return number


def _count(members: dict[str, Any], name: str, default: int, most: int, faults: Faults) -> int:
    value = members.get(name, default)
    number = whole_number(value)
    if number is not None and 0 <= number <= most:
        return number
    faults.append((name, f"{value!r} is no number from 0 to {most}"))
    return default


def _refuse(faults: Faults) -> None:
    if faults:
        raise InvalidRequest(faults)

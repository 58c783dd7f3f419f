"""What can be asked for, checked: the API turns documents into these, and the pipeline reads them back from a job.

Each has `document()`, which its parser reads back as the same request.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.documents.filter_schemas import EXACTLY_ONE_FILTER
from headrace.documents.forms import Form, Member, refuse
from headrace.documents.kinds import flag, whole
from headrace.subscriptions.channels.name import DEFAULT_CHANNEL
from headrace.subscriptions.points import EARLIEST, Point
from headrace.subscriptions.request_kinds import A_CHANNEL, A_FILTER, A_POINT, A_TIME, a_rate

if TYPE_CHECKING:
    from headrace.documents.faults import Faults
    from headrace.subscriptions.channels.name import ChannelName

SEEK, BACKTEST, REPLAY, CATCH_UP = "seek", "backtest", "replay", "catch-up"
KINDS = (SEEK, BACKTEST, REPLAY, CATCH_UP)
_EXAMPLES, _MOST_EXAMPLES = 5, 100
_BUCKETS, _MOST_BUCKETS = 60, 1000
_ID = Member(whole(0, 2**64 - 1), takes_null=True)
SEEK_FORM = Form(
    "SeekRequest",
    {
        "to": Member(A_POINT, is_required=True),
        "dryRun": Member(flag, "Only tell the position.", default=False),
        "consumerId": _ID,
        "requestId": _ID,
    },
    {"examples": [{"to": {"time": "2026-01-31T12:00:00Z"}}]},
)
REPLAY_FORM = Form(
    "ReplayRequest",
    {
        "from": Member(A_POINT),
        "to": Member(A_POINT),
        "filter": Member(A_FILTER, takes_null=True),
        "rate": Member(a_rate("events"), "Events a second.", takes_null=True),
    },
    {"examples": [{"from": EARLIEST, "rate": 100}]},
)
BACKTEST_FORM = Form(
    "BacktestRequest",
    {
        "filter": Member(A_FILTER),
        "filters": Member(A_FILTER),
        "channel": Member(A_CHANNEL),
        "from": Member(A_TIME, takes_null=True),
        "to": Member(A_TIME, takes_null=True),
        "examples": Member(whole(0, _MOST_EXAMPLES), default=_EXAMPLES),
        "buckets": Member(whole(0, _MOST_BUCKETS), default=_BUCKETS),
    },
    {
        "oneOf": EXACTLY_ONE_FILTER,
        "examples": [{"filter": {"prefix": {"type": "com.example."}}, "channel": str(DEFAULT_CHANNEL)}],
    },
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
    given, faults = SEEK_FORM.read(document)
    refuse(faults)
    return SeekRequest(given["to"], given["dryRun"], given["consumerId"], given["requestId"])


def parse_replay(document: object) -> ReplayRequest:
    """Check a request to replay; InvalidRequest lists every fault with its path."""
    given, faults = REPLAY_FORM.read(document)
    refuse(faults)
    return ReplayRequest(given["from"] or Point(edge=EARLIEST), given["to"], given["filter"], given["rate"])


def parse_backtest(document: Any) -> BacktestRequest:
    """Check a request to test a filter on the past; InvalidRequest lists every fault with its path."""
    given, faults = BACKTEST_FORM.read(document)
    together: Faults = []
    filters = [document[name] for name in ("filter", "filters") if name in document]
    if len(filters) != 1 or filters[0] is None:
        together.append(("filter", "give either filter or filters"))
    start, end = given["from"], given["to"]
    if start is not None and end is not None and start >= end:
        together.append(("to", "has to be later than from"))
    refuse(together + faults)
    return BacktestRequest(
        tuple(filters[0] if isinstance(filters[0], list) else filters),
        given["channel"] or DEFAULT_CHANNEL,
        start,
        end,
        given["examples"],
        given["buckets"],
    )

"""A redrive: which deliveries are to be made again, how fast, and how far that is."""

from __future__ import annotations

import enum
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.documents.filter_schemas import FILTER_OR_FILTERS
from headrace.documents.schemas import Named, nullable, record
from headrace.errors import InvalidChannel, InvalidRequest
from headrace.ledger.times import shown_time
from headrace.subscriptions.channels.name import CHANNEL_NAME, ChannelName, parse_channel
from headrace.subscriptions.delivery.members import HIGHEST_RATE, RATE, is_rate
from headrace.subscriptions.points import TIME, check_filter, parse_time

if TYPE_CHECKING:
    from headrace.documents.faults import Faults

DEAD_STATE, WAITING_STATE = "dead", "waiting"
_MEMBERS = {
    "subscription": {"type": ["string", "null"]},
    "channel": nullable(CHANNEL_NAME),
    "namespace": {"type": ["string", "null"], "description": "Of the channels of this namespace."},
    "filter": nullable(FILTER_OR_FILTERS),
    "state": {"enum": [DEAD_STATE, WAITING_STATE], "default": DEAD_STATE},
    "since": nullable(TIME),
    "until": nullable(TIME),
    "rate": {**nullable(RATE), "description": "Deliveries a second."},
    "dryRun": {"type": "boolean", "default": False, "description": "Only count."},
}
REDRIVE_REQUEST = Named(
    "RedriveRequest",
    record(
        _MEMBERS,
        description="Which deliveries are to be made again.",
        examples=[{"channel": "default/default", "dryRun": True}],
    ),
)


class State(enum.StrEnum):
    """Where a redrive stands. It leaves the first once, and the others never."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class RedriveRequest:
    """Deliveries that are dead, or wait, of a subscription, a channel or a namespace, whose events match a filter.

    `since` and `until`, in milliseconds, bound when the dead were given up, or when the waiting are due.
    """

    state: str = DEAD_STATE
    subscription: str | None = None
    channel: ChannelName | None = None
    filter: Any = None
    since: int | None = None
    until: int | None = None
    rate: float | None = None
    namespace: str | None = None

    def document(self) -> dict[str, Any]:
        """Write it as JSON, which `parse_redrive` reads back."""
        members = {
            "state": self.state,
            "subscription": self.subscription,
            "channel": None if self.channel is None else str(self.channel),
            "namespace": self.namespace,
            "filter": self.filter,
            "since": self.since,
            "until": self.until,
            "rate": self.rate,
        }
        return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Delivered:
    """One delivery, of which an attempt was made."""

    subscription: str
    position: int
    replay: str = ""


@dataclass(frozen=True, slots=True)
class Redrive:
    """`found` was counted before it began, `moved` are on their way again. With `only`, it is one delivery."""

    request: RedriveRequest
    found: int
    only: Delivered | None = None
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    state: State = State.RUNNING
    moved: int = 0
    asked: float = field(default_factory=time.time)
    ended: float | None = None
    error: str | None = None
    namespace: str | None = None

    def document(self) -> dict[str, Any]:
        """Return it as the API shows it."""
        request = self.request.document()
        if self.only is not None:
            request = {"subscription": self.only.subscription, "position": self.only.position}
        shown = {
            "id": self.id,
            "request": request,
            "state": self.state,
            "found": self.found,
            "moved": self.moved,
            "asked": shown_time(self.asked),
            "ended": None if self.ended is None else shown_time(self.ended),
            "error": self.error,
        }
        return {name: value for name, value in shown.items() if value is not None}


def parse_redrive(document: object) -> tuple[RedriveRequest, bool]:
    """Check a request; return it, and whether it is a dry run. InvalidRequest lists every fault with its path."""
    if not isinstance(document, dict):
        raise InvalidRequest([("", f"the body has to be a JSON object with any of: {', '.join(_MEMBERS)}")])
    faults: Faults = [
        (str(key), f"unknown member; this request has: {', '.join(_MEMBERS)}")
        for key in document
        if key not in _MEMBERS
    ]
    state, subscription = document.get("state", DEAD_STATE), document.get("subscription")
    if state not in (DEAD_STATE, WAITING_STATE):
        faults.append(("state", f"{state!r} is neither {DEAD_STATE} nor {WAITING_STATE}"))
    if subscription is not None and not isinstance(subscription, str):
        faults.append(("subscription", "has to be the id of a subscription"))
    if document.get("filter") is not None:
        check_filter(document["filter"], "filter", faults)
    since, until = (parse_time(document.get(name), name, faults) for name in ("since", "until"))
    if since is not None and until is not None and since >= until:
        faults.append(("until", "has to be later than since"))
    namespace = document.get("namespace")
    if namespace is not None and not isinstance(namespace, str):
        faults.append(("namespace", "has to be the name of a namespace"))
    channel, rate, dry_run = (
        _channel(document, faults),
        _rate(document, faults),
        document.get("dryRun", False),
    )
    if not isinstance(dry_run, bool):
        faults.append(("dryRun", "has to be true or false"))
    if faults:
        raise InvalidRequest(faults)
    wanted = RedriveRequest(
        state, subscription, channel, document.get("filter"), since, until, rate, namespace
    )
    return wanted, dry_run


def _channel(document: dict[str, Any], faults: Faults) -> ChannelName | None:
    if document.get("channel") is None:
        return None
    try:
        return parse_channel(document["channel"])
    except InvalidChannel as error:
        faults.append(("channel", str(error)))
        return None


def _rate(document: dict[str, Any], faults: Faults) -> float | None:
    rate = document.get("rate")
    if rate is None:
        return None
    if not is_rate(rate):
        faults.append(
            ("rate", f"{rate!r} is no number of deliveries a second above 0 and up to {HIGHEST_RATE}")
        )
        return None
    return float(rate)

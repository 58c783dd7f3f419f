"""A redrive: which deliveries are to be made again, how fast, and how far that is."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.database.work_queue import State
from headrace.documents.forms import Form, Member, refuse
from headrace.documents.kinds import any_text, flag, one_of
from headrace.ledger.times import shown_time
from headrace.subscriptions.request_kinds import A_CHANNEL, A_FILTER, A_TIME, a_rate

if TYPE_CHECKING:
    from headrace.subscriptions.channels.name import ChannelName

DEAD_STATE, WAITING_STATE = "dead", "waiting"
REDRIVE_FORM = Form(
    "RedriveRequest",
    {
        "subscription": Member(any_text("the id of a subscription"), takes_null=True),
        "channel": Member(A_CHANNEL, takes_null=True),
        "namespace": Member(
            any_text("the name of a namespace"), "Of the channels of this namespace.", takes_null=True
        ),
        "filter": Member(A_FILTER, takes_null=True),
        "state": Member(one_of(DEAD_STATE, WAITING_STATE), default=DEAD_STATE),
        "since": Member(A_TIME, takes_null=True),
        "until": Member(A_TIME, takes_null=True),
        "rate": Member(a_rate("deliveries"), "Deliveries a second.", takes_null=True),
        "dryRun": Member(flag, "Only count.", default=False),
    },
    {
        "description": "Which deliveries are to be made again.",
        "examples": [{"channel": "default/default", "dryRun": True}],
    },
)


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
    given, faults = REDRIVE_FORM.read(document)
    if given["since"] is not None and given["until"] is not None and given["since"] >= given["until"]:
        faults.append(("until", "has to be later than since"))
    refuse(faults)
    dry_run = given.pop("dryRun")
    return RedriveRequest(**given), dry_run

"""A subscription as a line of an export: its document, and beside it what was done to it since, as its status shows it.

| member of `status.delivery` | |
|---|---|
| `state` | `paused` or `ended`; a subscription that is neither has no status here |
| `reason` | why deliveries ended |
| `paused` | whether one that has ended was paused as well, which counts again when it is given another sink |

An import reads no other member of a status: where a subscription begins is for the log to say that it is to read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.subscriptions.subscription import ACTIVE, ENDED, PAUSED, STATES

if TYPE_CHECKING:
    from headrace.documents.faults import Faults
    from headrace.subscriptions.subscription import Subscription

_PLACE = "status.delivery"
_NO_REASON = "it had ended where it was exported"


def line_of(subscription: Subscription) -> dict[str, Any]:
    """Return a subscription as a line has it; without its secrets."""
    delivery: dict[str, Any] = {"state": subscription.state}
    if subscription.ended is not None:
        delivery |= {"reason": subscription.ended} | ({"paused": True} if subscription.paused else {})
    document = subscription.document()
    return document if subscription.state == ACTIVE else document | {"status": {"delivery": delivery}}


def as_it_stood(proposal: Subscription, document: dict[str, Any], faults: Faults) -> Subscription:
    """Return a proposal that is paused, or has ended, where its line says so."""
    status = document.get("status")
    delivery = status.get("delivery") if isinstance(status, dict) else None
    if not isinstance(delivery, dict):
        return proposal
    state, reason = delivery.get("state", ACTIVE), delivery.get("reason", _NO_REASON)
    if state not in STATES:
        faults.append((f"{_PLACE}.state", f"{state!r} is none of {', '.join(STATES)}"))
    if not isinstance(reason, str):
        faults.append((f"{_PLACE}.reason", "has to be a text"))
    is_paused = state == PAUSED or delivery.get("paused") is True
    return replace(proposal, paused=is_paused, ended=reason if state == ENDED else None)

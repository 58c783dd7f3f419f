"""What is shown beside a subscription: how it fares, and what its author should know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.filters import compile_filter
from headrace.subscriptions.subscription import ACTIVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.ledger.records import Records
    from headrace.ledger.status import DeliveryStatus
    from headrace.subscriptions.safe import CredentialStatus, Safe
    from headrace.subscriptions.status import FilterStatus
    from headrace.subscriptions.store import Store
    from headrace.subscriptions.subscription import Subscription


class Statuses:
    """Puts together what the databases tell of subscriptions. Its calls block."""

    def __init__(self, store: Store, safe: Safe, records: Records) -> None:
        self._store = store
        self._safe = safe
        self._records = records

    def shown(self, subscriptions: Sequence[Subscription]) -> list[dict[str, Any]]:
        """Show subscriptions with their status; each of the databases is asked once for all of them."""
        ids = [each.id for each in subscriptions]
        overruns, credentials = self._store.overruns(ids), self._safe.statuses(ids)
        fares = self._records.statuses(ids)
        return [
            _with_status(
                each, with_notes(each), overruns.get(each.id), credentials.get(each.id), fares.get(each.id)
            )
            for each in subscriptions
        ]


def with_notes(subscription: Subscription) -> dict[str, Any]:
    """Show a subscription, and what its author should know about the way its filters are written."""
    notes = compile_filter(subscription.filters).notes
    return subscription.document() | ({"notes": list(notes)} if notes else {})


def _with_status(
    subscription: Subscription,
    document: dict[str, Any],
    filter_: FilterStatus | None,
    credential: CredentialStatus | None,
    fare: DeliveryStatus | None,
) -> dict[str, Any]:
    """Add what there is to tell of a subscription; of a new one that is nothing."""
    status: dict[str, Any] = {} if filter_ is None else {"filter": filter_}
    if credential is not None:
        document["sinkCredential"]["accessTokenExpiresUtc"] = credential.expires
        if credential.problem is not None:
            status["credential"] = {"problem": credential.problem, "time": credential.time}
    if fare is not None or subscription.state != ACTIVE:
        status["delivery"] = _state(subscription) | (fare.document() if fare is not None else {})
    return document | ({"status": status} if status else {})


def _state(subscription: Subscription) -> dict[str, Any]:
    reason = {} if subscription.ended is None else {"reason": subscription.ended}
    return {"state": subscription.state, **reason}

"""The status of subscriptions.

Its members `ready`, `position`, `lag`, `delivery` and `notes` are always present, `filter` and `credential` only where
there is something to report.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.api.subscriptions.filter_notes import REVIEWS
from headrace.errors import LogError
from headrace.events.positions import LogPosition, offset_of, partition_of
from headrace.ledger.records.status import MOST_COUNTED, OPEN, DeliveryStatus
from headrace.subscriptions.readiness import Readiness, readiness_of
from headrace.subscriptions.status import timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.ledger.records.records import Records
    from headrace.subscriptions.status import FilterStatus
    from headrace.subscriptions.store.secrets import CredentialStatus, SecretStore
    from headrace.subscriptions.store.store import Store
    from headrace.subscriptions.subscription import Subscription

_log = logging.getLogger(__name__)
_NOTHING_SENT = DeliveryStatus()


@dataclass(frozen=True, slots=True)
class _Known:
    """What the databases and the log know about subscriptions, by id; `end` is None while the log is unavailable."""

    settled: LogPosition = field(default_factory=LogPosition)
    end: LogPosition | None = None
    fares: Mapping[str, DeliveryStatus] = field(default_factory=dict)
    overruns: Mapping[str, FilterStatus] = field(default_factory=dict)
    credentials: Mapping[str, CredentialStatus] = field(default_factory=dict)
    unusable: Mapping[str, str] = field(default_factory=dict)


class Statuses:
    """Collects the status of subscriptions. Its calls block."""

    def __init__(
        self, store: Store, secret_store: SecretStore, records: Records, end_of_log: Callable[[], LogPosition]
    ) -> None:
        self._store = store
        self._secret_store = secret_store
        self._records = records
        self._end_of_log = end_of_log

    def shown(self, subscriptions: Sequence[Subscription]) -> list[dict[str, Any]]:
        """Show subscriptions with their status; each database is queried once for all of them."""
        if not subscriptions:
            return []
        ids = [each.id for each in subscriptions]
        authorised = [each.id for each in subscriptions if each.sink_credential is not None]
        overruns, unusable = self._store.filters_that_fail(ids)
        settled, fares = self._records.fares(ids)
        known = _Known(
            settled,
            self._end(),  # read after `settled`, so that it can't lie before it
            fares,
            overruns,
            self._secret_store.statuses(authorised) if authorised else {},
            unusable,
        )
        return [_shown(each, known) for each in subscriptions]

    def _end(self) -> LogPosition | None:
        """Return the end of the log; None while its brokers don't answer."""
        try:
            return self._end_of_log()
        except LogError as error:
            _log.warning("the lag of subscriptions is unknown: %s", error)
            return None


def shown_new(subscription: Subscription) -> dict[str, Any]:
    """Show a subscription that was just created: nothing has happened to it, so no database is queried."""
    return _shown(subscription, _Known(end=subscription.created or LogPosition()))


def _shown(subscription: Subscription, known: _Known) -> dict[str, Any]:
    document = subscription.document()
    notes, unusable = REVIEWS.of(subscription.filters, subscription.compiled)
    unusable = unusable or known.unusable.get(subscription.id)
    fare = known.fares.get(subscription.id, _NOTHING_SENT)
    credential = known.credentials.get(subscription.id)
    if credential is not None:
        document["sinkCredential"]["accessTokenExpiresUtc"] = credential.expires
    status: dict[str, Any] = {
        "ready": _readiness(subscription, unusable, fare, credential).document(),
        **_progress(subscription, known, fare),
        "delivery": _state(subscription) | fare.document(),
    }
    if subscription.id in known.overruns:
        status["filter"] = known.overruns[subscription.id].document()
    if credential is not None and credential.problem is not None:
        status["credential"] = {"problem": credential.problem, "time": credential.time}
    status["notes"] = list(notes)
    return document | {"status": status}


def _readiness(
    subscription: Subscription,
    unusable: str | None,
    fare: DeliveryStatus,
    credential: CredentialStatus | None,
) -> Readiness:
    """Tell whether it gets events; if not, give the reason that has to be resolved first."""
    own = readiness_of(subscription)
    if not own.is_ready:
        return own
    if unusable is not None:
        return Readiness(False, "FilterUnusable", unusable)
    if credential is not None and credential.problem is not None and (credential.expires or "") < timestamp():
        return Readiness(False, "CredentialUnusable", credential.problem)
    if fare.report is not None and fare.report.breaker == OPEN:
        return Readiness(
            False, "SinkFailing", f"deliveries to its sink are suspended for a while: {fare.report.reason}"
        )
    return own


def _progress(subscription: Subscription, known: _Known, fare: DeliveryStatus) -> dict[str, Any]:
    """Return its position, before which every event was delivered or given up, and its lag."""
    if subscription.created is None:
        return {"position": None, "lag": {"positions": 0, "waiting": min(fare.waiting, MOST_COUNTED)}}
    reached = dict(known.settled.join(subscription.created))
    for position in fare.oldest:
        reached[partition_of(position)] = min(reached.get(partition_of(position), position), position)
    cut, end = LogPosition(reached), known.end
    lag = {
        "positions": None if end is None else cut.count_to(end),
        "waiting": min(fare.waiting, MOST_COUNTED),
    }
    return {"position": _shown_cut(cut, end or LogPosition()), "lag": lag}


def _shown_cut(cut: LogPosition, end: LogPosition) -> int | dict[str, int]:
    """Return a position; in a log of several partitions, an offset in each of them."""
    partitions = cut.keys() | end.keys()
    return (
        {str(partition): offset_of(cut[partition]) for partition in sorted(partitions)}
        if partitions - {0}
        else cut[0]
    )


def _state(subscription: Subscription) -> dict[str, Any]:
    reason = {} if subscription.ended is None else {"reason": subscription.ended}
    return {"state": subscription.state, **reason}

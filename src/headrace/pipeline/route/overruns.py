"""Filters that cost too much: from the rows of a plan to their subscriptions, beside the routing."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import pyarrow.compute as pc

from headrace.errors import HeadraceError
from headrace.subscriptions.status import FilterStatus, timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import pyarrow as pa

    from headrace.events.event import Event
    from headrace.events.recorded import Recorded
    from headrace.subscriptions.store.store import Store

_log = logging.getLogger(__name__)

_MOST = 10_000
_LAST_WAIT = 5.0


def overruns_in(plan: pa.Table) -> dict[str, FilterStatus]:
    """Return a plan's overruns by subscription; a subscription that several tasks tell of comes once."""
    rows = plan.filter(pc.is_valid(plan["overrun"])).sort_by("position")
    now = timestamp()
    found: dict[str, FilterStatus] = {}
    for row in rows.to_pylist():
        overrun = row["overrun"]
        status = FilterStatus(overrun["times"], overrun["reason"], row["position"], now)
        _join(found, {row["subscription"]: status})
    return found


class OverrunReporter:
    """Writes overruns to the store in a thread of its own: a locked or lost database never holds up the routing.

    What can't be written waits for the next report; what waits when the process dies is lost. A batch that is
    repeated reports twice.
    """

    def __init__(
        self,
        store: Store,
        find_events: Callable[[Iterable[int]], Mapping[int, Recorded]] = lambda _: {},
    ) -> None:
        self._store = store
        self._find_events = find_events
        self._waiting: dict[str, FilterStatus] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="headrace-reports", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Write what waits, but not for longer than a few seconds."""
        self._closing = True
        self._wake.set()
        self._thread.join(_LAST_WAIT)

    def note(self, overruns: Mapping[str, FilterStatus]) -> None:
        """Have these written soon; returns at once."""
        if overruns:
            with self._lock:
                _join(self._waiting, overruns)
            self._wake.set()

    def _run(self) -> None:
        closing = False
        while not closing:
            self._wake.wait()
            self._wake.clear()
            closing = self._closing  # asked before the last are taken, not after
            self._write()

    def _with_events(self, overruns: dict[str, FilterStatus]) -> dict[str, FilterStatus]:
        """Say by which attributes the events are known. One that can't be read is told by its position."""
        try:
            found = self._find_events({each.position for each in overruns.values()})
        except HeadraceError as error:
            _log.warning("the events that filters cost too much on can't be read: %s", error)
            return overruns
        return {
            subscription: replace(status, event=_attributes(found[status.position].event))
            if status.position in found
            else status
            for subscription, status in overruns.items()
        }

    def _write(self) -> None:
        with self._lock:
            taken, self._waiting = self._waiting, {}
        if not taken:
            return
        try:
            self._store.report_overruns(self._with_events(taken))
        except Exception as error:  # noqa: BLE001  whatever it is, reports have to go on, and routing does
            _log.warning("overruns of %d filters can't be reported yet: %s", len(taken), error)
            with self._lock:
                _join(taken, self._waiting)
                self._waiting = taken


def _attributes(event: Event) -> dict[str, str]:
    return {"id": event.id, "source": event.source, "type": event.type}


def _join(waiting: dict[str, FilterStatus], more: Mapping[str, FilterStatus]) -> None:
    """Add later overruns. Who finds no room is told of when the filter overruns again."""
    for subscription, status in more.items():
        known = waiting.get(subscription)
        if known is not None:
            waiting[subscription] = known.followed_by(status)
        elif len(waiting) < _MOST:
            waiting[subscription] = status

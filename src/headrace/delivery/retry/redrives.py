"""Doing the redrives that were asked for: page by page, each share by the dispatcher that holds it.

A page moves in one transaction, together with the place up to which the share was looked at. So a dispatcher that is
killed goes on where it was, and so does another one that takes its share over.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.clock import CLOCK
from headrace.delivery.step import PolledStep
from headrace.errors import BrokerUnavailable, HeadraceError, StoreUnavailable
from headrace.eventlog.lookup import read_events_at
from headrace.ledger.redrives import redrives
from headrace.ledger.redrives import selection as moving
from headrace.ledger.redrives.selection import PAGE, Selection

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from headrace.eventlog.log import LogReader
    from headrace.eventlog.outbox_partitions import OutboxPartitions
    from headrace.ledger.records.records import Records
    from headrace.ledger.redrives.redrive import Redrive
    from headrace.subscriptions.store.store import Store

_log = logging.getLogger(__name__)
_LOOK_SECONDS = 0.25
# Nobody failed: what is away comes back.
_AWAY = (StoreUnavailable, BrokerUnavailable)
# At a rate, deliveries are moved for so many seconds ahead, so that a redrive can be cancelled.
_AHEAD_SECONDS = 5.0


class RedriveWorker(PolledStep):
    """For one event loop; the database's calls are made in threads, one at a time."""

    def __init__(self, records: Records, store: Store, log: LogReader, shares: OutboxPartitions) -> None:
        self._records = records
        self._store = store
        self._log = log
        self._shares = shares

    async def poll(self) -> float:
        """Move some of what is to be redriven."""
        try:
            has_more = await asyncio.to_thread(self.move)
        except _AWAY as error:
            _log.warning("redrives go on later: %s", error)
            has_more = False
        return 0.0 if has_more else _LOOK_SECONDS

    def move(self) -> bool:
        """Move one page of each redrive and share; tell whether there is more to move at once."""
        has_more = False
        for redrive in self._records.redrives.running():
            try:
                has_more |= self._step(redrive)
            except _AWAY:
                raise
            except HeadraceError as error:
                self._records.write(partial(redrives.fail, redrive_id=redrive.id, error=str(error)))
        return has_more

    def _step(self, redrive: Redrive) -> bool:
        if redrive.only is not None:
            if self._shares.holds(redrive.only.subscription):
                self._records.write(partial(self._move_one, redrive=redrive))
            return False
        steps = [self._step_share(redrive, share) for share in sorted(self._shares.own)]
        return any(steps)

    def _move_one(self, connection: Connection, redrive: Redrive) -> None:
        assert redrive.only is not None  # noqa: S101  the caller looked
        if self._store.listens(redrive.only.subscription):
            moving.move_one(
                connection, redrive, redrive.only, partial(read_events_at, self._log), self._shares
            )
        else:
            redrives.fail(connection, redrive.id, "its subscription was deleted")

    def _step_share(self, redrive: Redrive, share: int) -> bool:
        progress, is_done = self._records.read(partial(redrives.progress, redrive_id=redrive.id, share=share))
        if is_done or self._is_ahead(redrive):
            return False
        selection = self._selection(redrive, share)
        page = self._records.read(partial(_next_page, selection=selection, progress=progress))
        return self._records.write(
            partial(
                self._move, redrive=redrive, selection=selection, share=share, progress=progress, page=page
            )
        )

    def _is_ahead(self, redrive: Redrive) -> bool:
        if redrive.request.rate is None:
            return False
        slot = self._records.read(partial(redrives.slot, redrive_id=redrive.id))
        return slot > CLOCK.time() + _AHEAD_SECONDS

    def _move(
        self,
        connection: Connection,
        redrive: Redrive,
        selection: Selection,
        share: int,
        progress: tuple[Any, ...] | None,
        page: tuple[Any, tuple[Any, ...]] | None,
    ) -> bool:
        rows, last = page or ([], progress)
        if not moving.move(connection, selection, redrive, rows, self._shares):
            return False
        redrives.keep_progress(connection, redrive.id, share, last, done=page is None)
        if page is None:
            redrives.finish_if_all(connection, redrive.id, self._shares.count)
        return page is not None

    def _selection(self, redrive: Redrive, share: int) -> Selection:
        request = redrive.request

        def is_wanted(subscription: str) -> bool:
            is_mine = self._shares.of(subscription) == share
            return is_mine and self._store.listens(subscription, request.channel, request.namespace)

        return Selection(redrive.request, is_wanted, partial(read_events_at, self._log), redrive.asked)


def _next_page(
    connection: Connection, selection: Selection, progress: tuple[Any, ...] | None
) -> tuple[Any, tuple[Any, ...]] | None:
    """Return the next rows to move and the key of the last one looked at; None where that was all."""
    rate = selection.request.rate
    limit = PAGE if rate is None else max(1, min(PAGE, int(rate * _AHEAD_SECONDS)))
    for subscription in moving.subscriptions(
        connection, selection, None if progress is None else progress[0]
    ):
        for page in moving.pages(connection, selection, subscription, progress, limit):
            return page
    return None

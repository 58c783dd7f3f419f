"""The role that delivers, and that clears away what nobody needs any more."""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import TYPE_CHECKING

import uvloop

from headrace.delivery.dispatcher import Dispatcher
from headrace.delivery.ledger import Ledger
from headrace.delivery.protocols.http import HttpSender
from headrace.errors import ArchiveError, StoreUnavailable
from headrace.eventlog.archive.lag import ArchivedForLong
from headrace.eventlog.archive.storage import Storage
from headrace.eventlog.local.outbox import OutboxFiles
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.retention import expire_segments
from headrace.jobs.jobs import Jobs
from headrace.jobs.replays import Replays
from headrace.service.layout import Layout
from headrace.service.states import READY, announce
from headrace.subscriptions.store import Store

if TYPE_CHECKING:
    from headrace.config import Config

ROLE = "dispatcher"
_CLEAR_SECONDS = 10.0
_log = logging.getLogger(__name__)


def run(config: Config) -> None:
    """Deliver until told to stop; let attempts under way finish."""
    uvloop.run(_deliver(config))


async def _deliver(config: Config) -> None:
    layout = Layout(config.data)
    stop = asyncio.Event()
    patience = config.delivery.patience_seconds
    store, ledger = Store(config.store.url, patience), Ledger(config.delivery.url, patience)
    jobs, outbox = Jobs(config.store.url, patience), OutboxFiles(layout.outbox)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    senders = {"HTTP": HttpSender(config.delivery.timeout_seconds)}
    dispatcher = Dispatcher(
        outbox, SegmentReader(layout.log), store, ledger, Replays(jobs), senders, config.delivery
    )
    clearing = asyncio.create_task(_clear(dispatcher, outbox, store, ledger, config))
    announce(layout.run, ROLE, READY)
    try:
        await dispatcher.run(stop)
    finally:
        clearing.cancel()
        ledger.close()
        jobs.close()
        store.close()


async def _clear(
    dispatcher: Dispatcher, outbox: OutboxFiles, store: Store, ledger: Ledger, config: Config
) -> None:
    archived = (
        ArchivedForLong(Storage(config.archive.path), config.archive.grace_seconds)
        if config.archive.enabled
        else None
    )

    def clear_once() -> None:
        cursor = ledger.cursor()
        freed = outbox.drop(cursor)
        gone = store.purge(cursor)
        settled = dispatcher.settled()
        removable = settled if archived is None else settled.meet(archived.cut())
        freed += expire_segments(Layout(config.data).log, removable, config.log)
        if freed or gone:
            _log.debug("cleared %d bytes and %d ended subscriptions", freed, len(gone))

    while True:
        await asyncio.sleep(_CLEAR_SECONDS)
        try:
            await asyncio.to_thread(clear_once)
        except (OSError, StoreUnavailable, ArchiveError) as error:
            _log.warning("what nobody needs any more is removed later: %s", error)

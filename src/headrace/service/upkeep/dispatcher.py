"""Run the dispatcher on its outbox: the whole embedded one, or its shares of one in Kafka."""

from __future__ import annotations

import asyncio
import logging
from contextlib import ExitStack, closing
from functools import reduce
from typing import TYPE_CHECKING

from headrace.auth.keys.store import KeyStore
from headrace.delivery.attempt.specs import default_spec
from headrace.delivery.dispatcher import PARTS, Dispatcher
from headrace.delivery.intake.expiry import Expiry
from headrace.delivery.protocols.http.token_endpoint import TokenEndpoint
from headrace.delivery.protocols.table import new_senders
from headrace.delivery.retry.probes import ProbeWorker
from headrace.delivery.retry.redrives import RedriveWorker
from headrace.delivery.sinks.callbacks import Callbacks
from headrace.delivery.sinks.channels import LocalChannels
from headrace.delivery.sinks.credentials import Credentials
from headrace.delivery.sinks.guard import Guard
from headrace.delivery.sinks.tls import tls_context
from headrace.delivery.step import run_steps
from headrace.errors import ArchiveError, BrokerUnavailable, StoreUnavailable
from headrace.eventlog.archive.retention import ArchiveLag
from headrace.eventlog.archive.storage import Storage
from headrace.eventlog.local.outbox.reader import LocalOutboxReader
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.location import open_log
from headrace.eventlog.lookup import EventLookup
from headrace.eventlog.outbox_partitions import WHOLE_OUTBOX
from headrace.eventlog.retention import expire_segments
from headrace.events.positions import LogPosition
from headrace.jobs.jobs import Jobs
from headrace.jobs.replays import Replays
from headrace.ledger.ledger import Ledger
from headrace.ledger.pull.events import Sources
from headrace.ledger.records.records import Records
from headrace.service.storage.continuity import is_of_log
from headrace.service.storage.databases import open_databases
from headrace.service.storage.layout import Layout
from headrace.service.storage.logs import log_location
from headrace.service.storage.secrets import open_secret_store
from headrace.subscriptions.store.store import Store
from headrace.telemetry.health import FOREVER, HEALTH

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.config import Config
    from headrace.database.database import Database
    from headrace.eventlog.outbox import OutboxReader
    from headrace.eventlog.outbox_partitions import OutboxPartitions
    from headrace.service.storage.databases import Databases

_CLEAR_SECONDS = 10.0
_log = logging.getLogger(__name__)


async def drain_all(config: Config, stop: asyncio.Event, on_ready: Callable[[], None]) -> None:
    """Drain the embedded outbox until told to stop."""
    layout = Layout(config.data)
    outbox = LocalOutboxReader(layout.outbox, SegmentReader(layout.log).end)
    archived = (
        ArchiveLag(Storage(config.archive.path), config.archive.grace_seconds)
        if config.archive.enabled
        else None
    )
    with open_databases(config, config.delivery.patience_seconds) as databases:
        # In a thread: on a full disk this waits, and a stop must still be possible.
        ledger = await asyncio.to_thread(Ledger, databases.ledger)

        def clear(dispatcher: Dispatcher) -> None:
            if not is_of_log(layout):
                return  # what is settled of one log says nothing about another
            freed = outbox.drop(ledger.cursor())
            settled = dispatcher.settled()
            removable = settled if archived is None else settled.meet(archived.position())
            freed += expire_segments(layout.log, removable, config.log)
            if freed:
                _log.debug("cleared %d bytes", freed)

        on_ready()
        await _drain(config, databases, str(layout.log), outbox, ledger, WHOLE_OUTBOX, stop, clear)


async def drain_shares(config: Config, stop: asyncio.Event, on_ready: Callable[[], None]) -> None:
    """Drain the shares of a Kafka outbox that are assigned to this process, and follow reassignments."""
    from headrace.eventlog.kafka.outbox.reader import KafkaOutboxReader, OutboxGroup  # optional dependency

    location = await asyncio.to_thread(log_location, config)
    loop, changed = asyncio.get_running_loop(), asyncio.Event()
    patience = config.delivery.shutdown_seconds + 10
    group = OutboxGroup(config.kafka, lambda: loop.call_soon_threadsafe(changed.set), patience)
    on_ready()
    try:
        with open_databases(config, config.delivery.patience_seconds) as databases:
            while not stop.is_set():
                changed.clear()
                assignment = group.assignment
                if not assignment.partitions.own:
                    group.release()
                    HEALTH.idle("shares", "other dispatchers have all shares of the outbox", FOREVER)
                    await _first_of(stop, changed)
                    continue
                HEALTH.forget("shares")
                ledger = Ledger(databases.ledger, assignment.partitions)
                outbox = KafkaOutboxReader(group, assignment, ledger.cursors())
                await _drain_until_changed(
                    config, databases, location, outbox, ledger, assignment.partitions, stop, changed
                )
    finally:
        await asyncio.to_thread(group.close)


async def _drain_until_changed(
    config: Config,
    databases: Databases,
    location: str,
    outbox: OutboxReader,
    ledger: Ledger,
    shares: OutboxPartitions,
    stop: asyncio.Event,
    changed: asyncio.Event,
) -> None:
    ending = asyncio.Event()

    async def end() -> None:
        await _first_of(stop, changed)
        ending.set()

    watching = asyncio.create_task(end())
    try:
        clear = lambda _: outbox.drop(ledger.cursor())  # noqa: E731
        await _drain(config, databases, location, outbox, ledger, shares, ending, clear)
    finally:
        watching.cancel()


async def _drain(
    config: Config,
    databases: Databases,
    location: str,
    outbox: OutboxReader,
    ledger: Ledger,
    shares: OutboxPartitions,
    stop: asyncio.Event,
    clear: Callable[[Dispatcher], object],
) -> None:
    with ExitStack() as opened, closing(Guard(config.delivery.allow_networks)) as guard:
        store, records = Store(databases.store), Records(databases.ledger)
        secret_store = open_secret_store(config.store, databases.store)
        callback = config.delivery.webhook_callback
        callbacks = Callbacks(records, callback) if callback else None
        log, senders = open_log(location), new_senders(guard, config.delivery, callbacks)
        endpoint = TokenEndpoint(guard, tls_context(config.delivery.ca_file))
        local_channels = await _local_channels(config, databases.store, opened)
        credentials = Credentials(
            secret_store, endpoint, config.delivery.token_refresh_seconds, local_channels
        )
        replays = Replays(Jobs(databases.store))
        dispatcher = Dispatcher(
            outbox,
            log,
            store,
            ledger,
            replays,
            senders,
            config.delivery,
            shares,
            credentials=credentials,
            on_gone=store.end,
            report=records.report,
        )

        probing = ProbeWorker(records, store, senders, credentials, default_spec(config.delivery))

        sources = Sources(EventLookup(open_log(location)), replays.active_at)
        expiry = Expiry(ledger, store, sources, shares, config.delivery)

        def clear_once() -> None:
            clear(dispatcher)  # before what needs disk space: on a full disk this frees some
            expiry.clear()
            cursors = ledger.cursors()
            gone = store.purge(
                reduce(LogPosition.meet, (cursors.get(share, LogPosition()) for share in range(shares.count)))
            )
            records.clear(config.delivery.attempts_retention_seconds, config.delivery.attempts_max, gone)

        clearing = asyncio.create_task(_repeat(clear_once))
        try:
            async with asyncio.TaskGroup() as loops:
                # A reader is for one thread, and the dispatcher's is in use.
                redriving = RedriveWorker(records, store, open_log(location), shares)
                loops.create_task(run_steps([probing, redriving], stop))
                loops.create_task(dispatcher.run(stop))
        finally:
            clearing.cancel()
            for part in PARTS:
                HEALTH.forget(part)


async def _local_channels(config: Config, store: Database, opened: ExitStack) -> LocalChannels | None:
    """Where channels ask producers who they are, be somebody."""
    if not config.auth.is_on or config.auth.open_publishing:
        return None
    local_channels = LocalChannels(config.api.own_address, KeyStore(store))
    await local_channels.open()
    opened.callback(local_channels.close)
    opened.callback(asyncio.create_task(local_channels.follow()).cancel)
    return local_channels


async def _repeat(clear_once: Callable[[], None]) -> None:
    while True:
        await asyncio.sleep(_CLEAR_SECONDS)
        try:
            await asyncio.to_thread(clear_once)
        except (OSError, StoreUnavailable, BrokerUnavailable, ArchiveError) as error:
            _log.warning("expired data can't be removed now and is removed later: %s", error)


async def _first_of(*events: asyncio.Event) -> None:
    tasks = [asyncio.create_task(event.wait()) for event in events]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()

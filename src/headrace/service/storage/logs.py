"""Open the log and the outbox of the configuration: embedded, or in Kafka."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, NamedTuple

from headrace.api.ingress.pressure import Gauges
from headrace.eventlog.local.committer import PART, GroupCommitter
from headrace.eventlog.local.outbox.reader import LocalOutboxReader
from headrace.eventlog.local.outbox.writer import LocalOutboxWriter
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.writer import SegmentWriter
from headrace.eventlog.location import kafka_location, open_log
from headrace.events.positions import LogPosition
from headrace.ledger.ledger import Ledger
from headrace.service.storage.continuity import begin_of_outbox, continuity_of, remember_log
from headrace.service.storage.layout import Layout
from headrace.telemetry.disk_space import has_space
from headrace.telemetry.health import FOREVER, HEALTH, Status

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.config import Config
    from headrace.database.database import Database
    from headrace.eventlog.log import LogReader, LogWriter
    from headrace.eventlog.outbox import OutboxWriter
    from headrace.service.storage.databases import Databases


_LOOK_SECONDS = 1.0
_NEEDED_BYTES = 1 << 16


class IngressLog(NamedTuple):
    """What the ingress needs of the log."""

    writer: LogWriter
    end: Callable[[], LogPosition]
    gauges: Gauges


async def report_space_again(folder: Path) -> None:
    """Keep checking whether a blocked log can be written again: no events come while the role isn't ready."""
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        report = HEALTH.reports().get(PART)
        is_blocked = report is not None and report.status is Status.BLOCKED
        if is_blocked and await asyncio.to_thread(has_space, folder, _NEEDED_BYTES):
            HEALTH.idle(PART, "it can be written again; no events have come since", FOREVER)


def log_location(config: Config) -> str:
    """Return the location of the log for `open_log`; missing topics are created."""
    if config.log.kind == "local":
        return str(Layout(config.data).log)
    from headrace.eventlog.kafka.topics import ensure_topics  # optional dependency

    ensure_topics(config.kafka)
    return kafka_location(config.kafka)


def open_log_writer(config: Config, databases: Databases) -> IngressLog:
    """Open the log for the ingress. Called from its event loop."""
    return _local_log(config, databases) if config.log.kind == "local" else _kafka_log(config)


def open_outbox_writer(config: Config, ledger: Database, begin: LogPosition) -> OutboxWriter:
    """Open the outbox for planning; `begin` is where the log begins, `ledger` the database that knows what is owed."""
    if config.log.kind == "local":
        layout = Layout(config.data)
        return LocalOutboxWriter(layout.outbox, begin_of_outbox(config, ledger, begin), layout.log)
    from headrace.eventlog.kafka.outbox.writer import KafkaOutboxWriter  # optional dependency

    return KafkaOutboxWriter(config.kafka, begin)


def _local_log(config: Config, databases: Databases) -> IngressLog:
    layout = Layout(config.data)
    outbox = LocalOutboxReader(layout.outbox)
    ledger = Ledger(databases.ledger)
    writer = SegmentWriter(
        layout.log,
        config.log.segment_bytes,
        accept_damage=config.log.accept_damage,
        continuity=continuity_of(config, databases.store, ledger),
        end_record=layout.log_end,
    )
    remember_log(config, writer.identity, ledger)
    reader = SegmentReader(layout.log)
    gauges = Gauges(
        backlog_events=lambda: outbox.covered().count_to(LogPosition.at(writer.end)),
        backlog_bytes=lambda: _bytes_behind(reader, outbox.covered()),
        outbox_bytes=lambda: outbox.size(ledger.cursor()),
        folders=[layout.log, layout.outbox, layout.data],
    )
    return IngressLog(
        GroupCommitter(writer, config.log.max_pending_bytes),
        lambda: LogPosition.at(writer.end),
        gauges,
    )


def _kafka_log(config: Config) -> IngressLog:
    from headrace.eventlog.kafka.outbox.backlog import OutboxBacklog
    from headrace.eventlog.kafka.outbox.writer import Coverage  # optional dependency
    from headrace.eventlog.kafka.writer import KafkaLogWriter

    reader = open_log(log_location(config))
    # Named after the machine and the port: the same after a restart, and unlike any other.
    name = f"{socket.gethostname()}-{config.api.port}"
    writer = KafkaLogWriter(config.kafka, name, config.log.max_pending_bytes)
    coverage, outbox_backlog = Coverage(config.kafka), OutboxBacklog(config.kafka)
    backlog = [0]

    def look() -> int:
        covered = coverage.position()
        backlog[0] = covered.join(reader.start()).count_to(reader.end())
        return _bytes_behind(reader, covered)

    gauges = Gauges(
        backlog_events=lambda: backlog[0],
        backlog_bytes=look,
        outbox_bytes=lambda: outbox_backlog.size(coverage.planned()),
        folders=[config.data],
    )
    return IngressLog(writer, reader.end, gauges)


def _bytes_behind(reader: LogReader, covered: LogPosition) -> int:
    waiting = covered.join(reader.start())
    return sum(reader.size(*each) for each in waiting.ranges_to(reader.end()))

"""Check that the embedded log is the one that outbox, ledger, archive and its own record know, before it takes events.

If the ledger's database can't be reached, the start fails and is repeated: nothing is accepted unchecked.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.database.database import Database
from headrace.errors import ArchiveError, LogUnavailable
from headrace.eventlog.archive.storage import Storage
from headrace.eventlog.local.continuity import Continuity, LogReference
from headrace.eventlog.local.identity import LogIdentity, read_identity, write_identity
from headrace.eventlog.local.outbox.files import DAMAGED, end_of_outbox, list_ranges
from headrace.eventlog.local.recovery import end_of_log
from headrace.eventlog.local.segments import ONLY_PARTITION
from headrace.eventlog.local.watermark import Watermark
from headrace.events.positions import LogPosition
from headrace.ledger.ledger import Ledger
from headrace.ledger.tables import FAMILY
from headrace.secrets.masks import without_password
from headrace.service.storage.damage import setting_aside
from headrace.service.storage.databases import schema_versions
from headrace.service.storage.layout import Layout

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config import Config

_log = logging.getLogger(__name__)


def continuity_of(config: Config, store: Database, ledger: Ledger) -> Continuity:
    """Collect from all witnesses how far they know the log, and which log that was."""
    layout = Layout(config.data)
    referencees = [_outbox(layout.outbox), _remembered(config, ledger), *_archive(config), *_record(layout)]
    return Continuity(referencees, setting_aside(store))


def _record(layout: Layout) -> list[LogReference]:
    """Read the mark that the writer keeps outside of the log; an unreadable one is replaced at the start."""
    try:
        end = Watermark(layout.log_end).get()
    except (FileNotFoundError, LogUnavailable):
        return []
    return [] if end is None else [LogReference(f"the record {layout.log_end}", end)]


def _archive(config: Config) -> list[LogReference]:
    """Ask an archive on this machine. If it can't be read, archiving reports that."""
    path = config.archive.path.removeprefix("file://")
    if not config.archive.enabled or "://" in path:
        return []
    try:
        return [
            LogReference(
                f"the archive {path}", LogPosition(Storage(path).manifest().archived)[ONLY_PARTITION]
            )
        ]
    except ArchiveError as error:
        _log.warning("the archive isn't compared with the log: %s", error)
        return []


def remember_log(config: Config, identity: LogIdentity | None, ledger: Ledger) -> None:
    """Record in outbox and ledger which log they continue. The log records it first: a crash in between is harmless."""
    if identity is not None:
        try:
            write_identity(Layout(config.data).outbox, identity)
        except OSError as error:
            _log.warning("can't record in the outbox which log it is routed from: %s", error)
        ledger.set_log_identity(identity)


def look_at_log(config: Config) -> str:
    """Describe log, outbox and ledger without changing them; LogReplaced if they don't fit together."""
    layout = Layout(config.data)
    if not layout.log.is_dir() and not layout.outbox.is_dir():
        return "none yet: it is made at the start"
    referencees = [_outbox(layout.outbox), *_ledger(config), *_archive(config), *_record(layout)]
    end = end_of_log(layout.log)
    Continuity(referencees).check(layout.log, read_identity(layout.log), end)
    known = ", ".join(f"{each.holder} knows it up to {each.end}" for each in referencees)
    damaged = len(list(layout.outbox.glob(f"*{DAMAGED}")))
    kept = f"; {damaged} damaged outbox files were routed again and may be removed" if damaged else ""
    return f"ends at position {end}; {known}{kept}"


def _outbox(folder: Path) -> LogReference:
    return LogReference(f"the outbox {folder}", end_of_outbox(folder), read_identity(folder))


def _ledger(config: Config) -> list[LogReference]:
    """Ask the ledger if its tables have the version of this Headrace: checking must not migrate anything."""
    if _version(config) != FAMILY.newest:
        return []
    with Database(config.delivery.url, config.store.patience_seconds) as database:
        return [_remembered(config, Ledger(database))]


def _remembered(config: Config, ledger: Ledger) -> LogReference:
    settled = ledger.cursor().join(ledger.last_kept())
    return LogReference(
        f"the ledger {without_password(config.delivery.url)}", settled[ONLY_PARTITION], ledger.log_identity()
    )


def _version(config: Config) -> str | None:
    return next(each.version for each in schema_versions(config) if each.family == FAMILY.name)


def is_of_log(layout: Layout) -> bool:
    """Tell whether the outbox was routed from the present log, as far as both have an identity."""
    log, outbox = read_identity(layout.log), read_identity(layout.outbox)
    return log is None or outbox is None or log.continues(outbox)


def begin_of_outbox(config: Config, database: Database, begin: LogPosition) -> LogPosition:
    """Return where an outbox without files begins: with the log, or earlier if the ledger still expects more."""
    folder = Layout(config.data).outbox
    if folder.is_dir() and list_ranges(folder):
        return begin
    ledger = Ledger(database)
    return begin.meet(ledger.cursor()) if ledger.cursors() else begin

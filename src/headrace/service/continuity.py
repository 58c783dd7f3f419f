"""Who remembers the embedded log: the outbox, the ledger and the archive. They are asked before it takes an event.

Where the ledger's database can't be reached, the start fails and is tried again: nothing is accepted unchecked.
"""

from __future__ import annotations

import logging
from contextlib import closing
from typing import TYPE_CHECKING

from headrace.errors import ArchiveError
from headrace.eventlog.archive.storage import Storage
from headrace.eventlog.local.continuity import Continuity, Witness
from headrace.eventlog.local.identity import LogIdentity, read_identity, write_identity
from headrace.eventlog.local.outbox_files import list_ranges
from headrace.eventlog.local.segments import ONLY_LANE
from headrace.events.positions import Cut
from headrace.ledger.ledger import Ledger
from headrace.service.damage import setting_aside
from headrace.service.layout import Layout
from headrace.subscriptions.database import address_of

if TYPE_CHECKING:
    from headrace.config import Config
    from headrace.eventlog.local.outbox import OutboxFiles

_log = logging.getLogger(__name__)


def continuity_of(config: Config, outbox: OutboxFiles, ledger: Ledger) -> Continuity:
    """Ask everybody how far they know the log, and which one that was."""
    folder = Layout(config.data).outbox
    settled = ledger.cursor().join(ledger.last_kept())
    witnesses = [
        Witness(f"the outbox {folder}", outbox.end(), read_identity(folder)),
        Witness(f"the ledger {address_of(config.delivery.url)}", settled[ONLY_LANE], ledger.log_identity()),
        *_archive(config),
    ]
    return Continuity(witnesses, setting_aside(config))


def _archive(config: Config) -> list[Witness]:
    """Ask an archive on this machine. One that can't be read is told of by who archives."""
    storage = Storage(config.archive.path)
    if not config.archive.enabled or storage.folder is None:
        return []
    try:
        return [Witness(f"the archive {storage.folder}", Cut(storage.manifest().archived)[ONLY_LANE])]
    except ArchiveError as error:
        _log.warning("the archive isn't compared with the log: %s", error)
        return []


def remember_log(config: Config, identity: LogIdentity | None, ledger: Ledger) -> None:
    """Let outbox and ledger know which log they go on with. The log knows it first: a crash between changes nothing."""
    if identity is not None:
        try:
            write_identity(Layout(config.data).outbox, identity)
        except OSError as error:
            _log.warning("the outbox isn't told which log it is routed from: %s", error)
        ledger.set_log_identity(identity)


def is_of_log(layout: Layout) -> bool:
    """Tell whether the outbox was routed from the log that is there now, as far as both say which they are."""
    log, outbox = read_identity(layout.log), read_identity(layout.outbox)
    return log is None or outbox is None or log.goes_on_from(outbox)


def begin_of_outbox(config: Config, begin: Cut) -> Cut:
    """Return where an outbox without files begins: with the log, or earlier where the ledger still waits for more."""
    folder = Layout(config.data).outbox
    if folder.is_dir() and list_ranges(folder):
        return begin
    with closing(Ledger(config.delivery.url, config.store.patience_seconds)) as ledger:
        return begin.meet(ledger.cursor()) if ledger.cursors() else begin

"""Archive events in the background of routing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.eventlog.archive.maintenance import ArchiveMaintenance
from headrace.eventlog.archive.storage import Storage
from headrace.eventlog.location import open_log
from headrace.service.storage.damage import setting_aside
from headrace.service.storage.logs import log_location
from headrace.service.upkeep.chores import Chore
from headrace.telemetry.metrics import ARCHIVE_FAILURES

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.config import Config
    from headrace.database.database import Database

_log = logging.getLogger(__name__)


def archiving(config: Config, store: Database) -> Chore:
    """Archive periodically. When told to stop, finish the current batch of events."""
    storage, log = Storage(config.archive.path), open_log(log_location(config))
    keeper = ArchiveMaintenance(storage, log, config.archive, setting_aside(store))

    def keep(is_stopped: Callable[[], bool]) -> None:
        done = keeper.run(is_stopped)
        if done.archived or done.joined or done.expired:
            _log.debug(
                "archived %d events, joined %d files, removed %d", done.archived, done.joined, done.expired
            )

    return Chore("archive", keep, config.archive.interval_seconds, _failed)


def _failed(error: Exception) -> None:
    ARCHIVE_FAILURES.inc()
    _log.error("events can't be archived and stay in the log: %s", error)

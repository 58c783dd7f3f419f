"""Maintenance of an archive: archive, join, expire, clean. Each step ends with a manifest, so any may be the last."""

from __future__ import annotations

import logging
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.errors import ArchiveBusy, ArchiveDamaged, LogLocked
from headrace.eventlog.archive.archiver import archive_log
from headrace.eventlog.archive.compaction import files_to_join, join_files
from headrace.eventlog.archive.retention import end_of_files, files_to_expire
from headrace.eventlog.archive.verification import verify_file
from headrace.eventlog.damage import raise_damage
from headrace.eventlog.local.files import WriterLock
from headrace.events.positions import partition_of
from headrace.telemetry.metrics import ARCHIVE_BYTES, ARCHIVE_EXPIRED, ARCHIVE_JOINED, ARCHIVE_LOST, ARCHIVED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.eventlog.archive.manifest import ArchivedFile, Manifest
    from headrace.eventlog.archive.settings import ArchiveSettings
    from headrace.eventlog.archive.storage import Storage
    from headrace.eventlog.damage import Damage
    from headrace.eventlog.log import LogReader

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MaintenanceReport:
    """What one run did."""

    archived: int
    lost: int
    joined: int
    expired: int
    manifest: Manifest


def never() -> bool:
    """Don't stop."""
    return False


class ArchiveMaintenance:
    """Archives, joins, expires and cleans. One run at a time per archive, which a lock ensures on a local disk.

    Elsewhere the second of two commits is refused, and the next run removes its files.
    """

    def __init__(
        self,
        storage: Storage,
        log: LogReader,
        settings: ArchiveSettings,
        on_damage: Callable[[Damage], None] = raise_damage,
    ) -> None:
        """`on_damage` is called with positions of the log that can't be read, before they are skipped."""
        self._storage = storage
        self._log = log
        self._settings = settings
        self._on_damage = on_damage
        self._swept = False
        self._unreadable: set[str] = set()

    def run(
        self, stopped: Callable[[], bool] = never, on_progress: Callable[[Manifest], None] | None = None
    ) -> MaintenanceReport:
        """Bring the archive up to the end of the log. When stopped, return with what is committed."""
        with _alone(self._storage):
            if not self._swept:
                self._storage.sweep()
            self._swept = False  # unless this run ends well, the next one has to clean up after it
            before = self._storage.manifest()
            steps = archive_log(self._storage, self._log, self._log.end(), stopped, on_damage=self._on_damage)
            for manifest in steps:
                if on_progress:
                    on_progress(manifest)
            self._storage.note_begun()
            archived = self._storage.manifest()
            ARCHIVED.inc(archived.rows - before.rows)
            ARCHIVE_BYTES.inc(archived.bytes - before.bytes)
            upkeep = MaintenanceReport(
                archived=archived.rows - before.rows,
                lost=archived.positions_lost - before.positions_lost,
                joined=self._join(stopped),
                expired=self._expire(),
                manifest=self._clean(),
            )
            self._swept = not stopped()
            return upkeep

    def _join(self, stopped: Callable[[], bool]) -> int:
        joined = 0
        for files in files_to_join(self._storage.manifest(), self._settings.file_bytes, time.time()):
            if stopped():
                break
            if any(file.path in self._unreadable for file in files):
                continue
            try:
                written = join_files(self._storage, files)
            except ArchiveDamaged as error:
                self._leave(files, error)
                continue
            self._commit(add=[written], drop=files)
            ARCHIVE_BYTES.inc(written.bytes)
            joined += len(files)
        ARCHIVE_JOINED.inc(joined)
        return joined

    def _leave(self, files: Sequence[ArchivedFile], error: ArchiveDamaged) -> None:
        """Remember files that can't be joined because one is damaged, and log it once."""
        self._unreadable |= {file.path for file in files if self._storage.uri(file.path) == error.path}
        _log.error("%s", error)

    def _expire(self) -> int:
        files = files_to_expire(self._storage.manifest(), self._settings, time.time())
        if files:
            self._commit(drop=files, expired=end_of_files(files))
        ARCHIVE_EXPIRED.inc(len(files))
        return len(files)

    def _clean(self) -> Manifest:
        """Remove files that were dropped so long ago that no query reads them any more."""
        manifest = self._storage.manifest()
        horizon = time.time() - self._settings.grace_seconds
        gone = [each.path for each in manifest.leaving if each.since <= horizon]
        for path in gone:
            self._storage.delete(path)
        return self._commit(gone=gone) if gone else manifest

    def _commit(self, **changes: Any) -> Manifest:
        manifest = self._storage.manifest().followed(now=time.time(), **changes)
        self._storage.commit(manifest)
        return manifest


def drop_damaged_files(storage: Storage) -> list[ArchiveDamaged]:
    """Drop every file that can't be read, count its events as lost, and return what is wrong with each."""
    with _alone(storage):
        manifest = storage.manifest()
        found = [(file, verify_file(storage, file)) for file in manifest.files]
        damaged = [(file, error) for file, error in found if error is not None]
        lost: Counter[int] = Counter()
        for file, _ in damaged:
            lost[partition_of(file.first)] += file.rows
        if damaged:
            storage.commit(manifest.followed(now=time.time(), drop=[file for file, _ in damaged], lost=lost))
            ARCHIVE_LOST.inc(lost.total())
        return [error for _, error in damaged]


@contextmanager
def _alone(storage: Storage) -> Iterator[None]:
    if storage.folder is None:
        yield
        return
    storage.folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = WriterLock(storage.folder)
    except LogLocked:
        raise ArchiveBusy(str(storage.folder)) from None
    try:
        yield
    finally:
        lock.release()

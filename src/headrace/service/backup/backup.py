"""A copy of a deployment that can be put back, made while it runs.

What is read first is the oldest in the copy. The order loses nothing: first the log, so that what is removed meanwhile
is there; then planned deliveries, then the ledger, so that its cursor passes none that the copy lacks; then the store,
so that it knows everybody whom deliveries are planned for; and what came to the log since.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from headrace.database.sqlite.copies import copy_database
from headrace.database.sqlite.integrity import damage_of
from headrace.database.sqlite.locations import is_absent
from headrace.database.sqlite.record import read_record
from headrace.errors import BackupRefused, DatabaseDamaged
from headrace.eventlog.local.files import TEMPORARY
from headrace.service.backup.manifest import digest, write_manifest
from headrace.service.storage.database_files import sqlite_files
from headrace.service.storage.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.config import Config
    from headrace.service.storage.database_files import DatabaseFile

LOG, OUTBOX, SECRETS_KEY = "log", "outbox", "secrets.key"
DATABASES = {"store": "store.db", "ledger": "delivery.db"}
"""The name of each database's copy in a backup."""

# Whose file it is now, and how far others may read: neither says anything about a copy.
_OF_THE_MOMENT = {"LOCK", "END", "COVERED"}
_DATA = {".seg", ".arrow"}


class Backup(NamedTuple):
    """What was copied, and what a deployment keeps elsewhere."""

    files: int
    bytes: int
    left_out: list[str]


def back_up(
    config: Config, folder: Path, *, with_key: bool, on_file: Callable[[str], object] = lambda _: None
) -> Backup:
    """Copy the deployment into a new folder; BackupRefused, or DatabaseDamaged, where that can't be done."""
    _begin(folder)
    try:
        left_out = _copy_all(config, folder, on_file, with_key=with_key)
        names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        files = {name: digest(folder / name) for name in names}
        write_manifest(folder, datetime.now(UTC).isoformat(timespec="seconds"), files, left_out)
    except OSError as error:
        raise BackupRefused(
            f"the backup in {folder} can't be finished: {error}; remove the folder and make another elsewhere"
        ) from error
    return Backup(len(files), sum(each.bytes for each in files.values()), left_out)


def _begin(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as error:
        raise BackupRefused(
            f"no backup can be made in {folder}: {error.strerror}; give another folder"
        ) from None
    if taken:
        raise BackupRefused(f"{folder} isn't empty; give a new folder for each backup")


def _copy_all(config: Config, folder: Path, on_file: Callable[[str], object], *, with_key: bool) -> list[str]:
    layout, left_out = Layout(config.data), []
    is_local = config.log.kind == "local"
    if is_local:
        _copy_folder(layout.log, folder / LOG, on_file)
        _copy_folder(layout.outbox, folder / OUTBOX, on_file)
    else:
        left_out.append("the log and the outbox, which are topics of Kafka")
    files = {file.contents.name: file for file in sqlite_files(config)}
    for name in reversed(DATABASES):
        if name in files:
            _copy_sqlite(files[name], folder / DATABASES[name], on_file)
        elif "store" not in files or config.delivery.url != config.store.url:
            left_out.append(f"the {name}, which is in PostgreSQL: use pg_dump")
    if is_local:
        _copy_folder(layout.log, folder / LOG, on_file)
    key = Path(config.store.secrets_file)
    if with_key and key.exists():
        _copy_newer(key, folder / SECRETS_KEY, on_file)
    elif key.exists():
        left_out.append(f"{key}, without which no secret can be read (--with-secrets-key)")
    if config.archive.enabled:
        left_out.append(
            f"the archive in {config.archive.path}: its files never change, copy them as they are"
        )
    return left_out


def _copy_sqlite(file: DatabaseFile, target: Path, on_file: Callable[[str], object]) -> None:
    on_file(target.name)
    if is_absent(file.path) and read_record(file.path) is None:
        raise BackupRefused(f"there is no database {file.path}; give the folder of a deployment with --data")
    finding = damage_of(file.path)
    if finding is not None:
        raise DatabaseDamaged(file.path, *file.contents, finding)
    copy_database(file.path, target)


def _copy_folder(source: Path, target: Path, on_file: Callable[[str], object]) -> None:
    """Copy what isn't there yet, or has grown. What is about the data comes after the data."""
    target.mkdir(mode=0o700, exist_ok=True)
    if not source.is_dir():
        return
    for path in sorted(source.iterdir(), key=lambda path: (path.suffix not in _DATA, path.name)):
        if path.name in _OF_THE_MOMENT or path.suffix == TEMPORARY or not path.is_file():
            continue
        with suppress(FileNotFoundError):  # it was removed meanwhile: nobody needs it any more
            _copy_newer(path, target / path.name, on_file)


def _copy_newer(source: Path, target: Path, on_file: Callable[[str], object]) -> None:
    if source.suffix in _DATA and target.exists() and target.stat().st_size == source.stat().st_size:
        return
    on_file(f"{target.parent.name}/{target.name}")
    copy_file(source, target)


def copy_file(source: Path, target: Path) -> None:
    """Copy a file durably, for its owner alone."""
    with source.open("rb") as reading, os.fdopen(_create(target), "wb") as writing:
        shutil.copyfileobj(reading, writing, 1 << 20)
        writing.flush()
        os.fsync(writing.fileno())


def _create(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)

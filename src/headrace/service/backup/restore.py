"""Putting a backup back, and going on without one: what is replaced is kept, under another name.

Only while the service is stopped: the locks of all its roles are held meanwhile.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, func, select, update

from headrace.database.database import Database
from headrace.database.sqlite.admission import accept as accept_file
from headrace.database.sqlite.comparison import Difference, compare
from headrace.database.sqlite.copies import put_aside
from headrace.database.sqlite.integrity import damage_of
from headrace.database.sqlite.locations import is_absent
from headrace.database.sqlite.salvage import read_column, salvage
from headrace.errors import BackupRefused, LogLocked
from headrace.eventlog.local.files import WriterLock, sync_folder
from headrace.ledger.tables import CURSOR
from headrace.ledger.tables import FAMILY as LEDGER_FAMILY
from headrace.service.backup.backup import DATABASES, LOG, OUTBOX, SECRETS_KEY, copy_file
from headrace.service.backup.manifest import read_manifest, verify
from headrace.service.role import ROLES
from headrace.service.storage.database_files import sqlite_files
from headrace.service.storage.databases import families_in
from headrace.service.storage.layout import Layout
from headrace.subscriptions.store.store import Store
from headrace.subscriptions.tables import FAMILY as SUBSCRIPTIONS_FAMILY
from headrace.subscriptions.tables import REVISION, SUBSCRIPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.config import Config
    from headrace.database.sqlite.comparison import Finding
    from headrace.database.sqlite.salvage import Salvaged
    from headrace.service.storage.database_files import DatabaseFile

# What was told by a revision is never told again by the same one with another meaning.
_REVISIONS_SKIPPED = 1_000_000
# Without all of these it isn't known what is still to be delivered.
_OWED = {"cursor", "waiting", "mailboxes", "replay_cursors"}


class Restored(NamedTuple):
    """What was put back, of which moment, and where lies what was replaced."""

    made: str
    files: int
    kept: Path | None


class Rebuilt(NamedTuple):
    """What could be read, by tables; who could not; and whether everything in the log is delivered again.

    `finding` says how the file wasn't what it was: of an older one every row can be read, and the newest are missing.
    """

    kept: Path | None
    tables: list[Salvaged]
    lost: list[str]
    repeats: bool
    finding: Finding | None


def restore(
    config: Config, folder: Path, on_progress: Callable[[int, int], object] = lambda _a, _b: None
) -> Restored:
    """Put a whole backup into a data folder that holds nothing yet."""
    manifest = read_manifest(folder)
    _refuse_unless_new(config)
    total = sum(each.bytes for each in manifest.files.values())
    verify(folder, manifest.files, lambda count: on_progress(count, total))
    with _stopped(config):
        for name in manifest.files:
            _put(folder / name, _place(config, name))
        for file in sqlite_files(config):
            if file.path.exists():
                accept_file(file.path)
    return Restored(manifest.made, len(manifest.files), None)


def restore_only(
    config: Config,
    folder: Path,
    name: str,
    on_progress: Callable[[int, int], object] = lambda _a, _b: None,
) -> Restored:
    """Put back one database of a backup."""
    manifest, file = read_manifest(folder), _file(config, name)
    wanted = {each: known for each, known in manifest.files.items() if each == DATABASES[name]}
    if not wanted:
        raise BackupRefused(
            f"the backup {folder} has no {name}; it has: {', '.join(sorted(manifest.files)[:5])}"
        )
    verify(folder, wanted, lambda count: on_progress(count, wanted[DATABASES[name]].bytes))
    with _stopped(config):
        kept = put_aside(file.path)
        _put(folder / DATABASES[name], file.path)
        _begin_anew(config, file)
    return Restored(manifest.made, 1, kept)


def accept(config: Config, name: str) -> Path:
    """Take a database for what it is: an older copy, or another one than was here before."""
    file = _file(config, name)
    if is_absent(file.path):
        raise BackupRefused(
            f"there is no database {file.path}; begin with a new one: `headrace restore --rebuild {name}`"
        )
    with _stopped(config):
        _begin_anew(config, file)
    return file.path


def rebuild(config: Config, name: str) -> Rebuilt:
    """Make a new database of what can be read of the old one."""
    file = _file(config, name)
    with _stopped(config):
        finding = _difference(file)
        kept = put_aside(file.path)
        families = families_in(config, file)
        with Database(_url(file)) as database:
            for family in families:
                database.bring_up(family)
        wanted = [str(table.name) for family in families for table in family.metadata.sorted_tables]
        tables = salvage(kept or file.path.with_name("none"), file.path, wanted)
        _begin_anew(config, file)
        repeats = CURSOR.name in wanted and not _knows_what_is_owed(tables, finding)
        if repeats:
            _deliver_everything_again(file)
        lost = _lost_subscriptions(kept, file) if SUBSCRIPTIONS.name in wanted else []
    return Rebuilt(kept, tables, lost, repeats, finding)


def _difference(file: DatabaseFile) -> Finding | None:
    """Return how the file isn't what it was, unless pages that can't be read are all there is to it."""
    finding = compare(file.path)
    is_changed = finding is not None and finding.difference is Difference.CHANGED
    return None if is_changed and damage_of(file.path) is not None else finding


def _knows_what_is_owed(tables: list[Salvaged], finding: Finding | None) -> bool:
    """Tell whether the rows can be believed: an older ledger owes more, any other that changed might owe less."""
    if finding is not None and finding.difference is not Difference.OLDER:
        return False
    return all(each.complete for each in tables if each.table in _OWED)


def _deliver_everything_again(file: DatabaseFile) -> None:
    """Begin where the log begins, for everybody."""
    with Database(_url(file)) as database:
        database.bring_up(LEDGER_FAMILY)
        with database.writing() as connection:
            connection.execute(delete(CURSOR))


def _plan_anew(config: Config) -> None:
    """Let everything that the log has be routed again: the outbox lacks what a newer ledger had settled."""
    outbox = Layout(config.data).outbox
    if config.log.kind == "local" and outbox.exists():
        moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        outbox.rename(outbox.with_name(f"{outbox.name}.replaced-{moment}"))


def _lost_subscriptions(kept: Path | None, file: DatabaseFile) -> list[str]:
    """Return the ids that an index of the old database still knows and whose rows are lost."""
    query = f"SELECT id FROM {SUBSCRIPTIONS.name}"  # noqa: S608  its own index has all of that
    return [] if kept is None else sorted(read_column(kept, query) - read_column(file.path, query))


def _begin_anew(config: Config, file: DatabaseFile) -> None:
    """Take a database for what it is now, and forget what was made of another one."""
    accept_file(file.path)
    families = families_in(config, file)
    if LEDGER_FAMILY in families:
        _plan_anew(config)
    if SUBSCRIPTIONS_FAMILY in families:
        _begin_store_anew(config, file)


def _begin_store_anew(config: Config, file: DatabaseFile) -> None:
    with Database(_url(file)) as database:
        Store(database)  # makes what every store has
        _skip_revisions(database)
    shutil.rmtree(Layout(config.data).work, ignore_errors=True)
    if config.pipeline.rosters:
        for index in (
            *Path(config.pipeline.rosters).glob("*.index"),
            *Path(config.pipeline.rosters).glob("*.json"),
        ):
            index.unlink(missing_ok=True)


def _skip_revisions(database: Database) -> None:
    with database.writing() as connection:
        last = connection.execute(select(func.max(SUBSCRIPTIONS.c.revision))).scalar() or 0
        known = connection.execute(select(REVISION.c.value)).scalar_one()
        connection.execute(update(REVISION).values(value=max(last, known) + _REVISIONS_SKIPPED))


@contextmanager
def _stopped(config: Config) -> Iterator[None]:
    """Hold what the roles of a service hold while they run; BackupRefused where one does."""
    run = Layout(config.data).run
    with ExitStack() as held:
        try:
            for role in ROLES:
                folder = run / role
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                held.callback(WriterLock(folder).release)
        except LogLocked as locked:
            raise BackupRefused(f"the service runs on {config.data}: stop it first ({locked})") from None
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise BackupRefused(
                f"this could not be finished: {error}. What was replaced lies beside it, its name ending in "
                "`.replaced-` and the time; make room or repair the disk, then do it again"
            ) from error


def _file(config: Config, name: str) -> DatabaseFile:
    for file in sqlite_files(config):
        if any(family.contents.name == name for family in families_in(config, file)):
            return file
    raise BackupRefused(f"the {name} is in PostgreSQL, which has tools of its own: pg_dump and pg_restore")


def _refuse_unless_new(config: Config) -> None:
    layout = Layout(config.data)
    taken = [file.path for file in sqlite_files(config) if not is_absent(file.path)]
    taken += [*layout.log.glob("*.seg"), *layout.outbox.glob("*.arrow")]
    if taken:
        raise BackupRefused(
            f"{config.data} holds a deployment already ({taken[0].name}); give a new folder with --data, or put only a "
            "database back with --only"
        )


def _place(config: Config, name: str) -> Path:
    """Return where a file of a backup belongs."""
    layout, parts = Layout(config.data), Path(name).parts
    if name == SECRETS_KEY:
        return Path(config.store.secrets_file)
    for database, copy in DATABASES.items():
        if name == copy:
            return _file(config, database).path
    folders = {LOG: layout.log, OUTBOX: layout.outbox}
    if len(parts) != 2 or parts[0] not in folders or parts[1] in {"..", "."}:
        raise BackupRefused(f"the backup has a file {name!r}, which belongs nowhere; use another backup")
    return folders[parts[0]] / parts[1]


def _put(source: Path, target: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    copy_file(source, target)
    sync_folder(target.parent)


def _url(file: DatabaseFile) -> str:
    return f"sqlite:///{file.path}"

"""The SQLite files of a configuration: whether they are whole, and how they are left.

The supervisor looks after them and needs no database library for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.database.contents import LEDGER, STORE, Contents
from headrace.database.sqlite.admission import admit
from headrace.database.sqlite.comparison import compare
from headrace.database.sqlite.integrity import damage_of
from headrace.database.sqlite.locations import is_absent, sqlite_path
from headrace.database.sqlite.seal import seal
from headrace.errors import DatabaseDamaged
from headrace.eventlog.local.segments import has_events
from headrace.service.storage.layout import Layout

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config import Config


class DatabaseFile(NamedTuple):
    """A SQLite database of the configuration."""

    path: Path
    contents: Contents


def sqlite_files(config: Config) -> list[DatabaseFile]:
    """List the SQLite databases, none if a server has them; a file that is both databases is listed once."""
    paths: dict[Path, Contents] = {}
    for contents, url in ((STORE, config.store.url), (LEDGER, config.delivery.url)):
        path = sqlite_path(url)
        if path is not None:
            known = paths.get(path)
            paths[path] = (
                contents if known is None else Contents(known.name, f"{known.held}; {contents.held}")
            )
    return [DatabaseFile(path, contents) for path, contents in paths.items()]


def check_databases(config: Config) -> None:
    """Raise DatabaseDamaged if a SQLite file is damaged, missing or has been replaced by another."""
    for file in sqlite_files(config):
        admit(file.path, file.contents)
        finding = _damage(file, config)
        if finding is not None:
            raise DatabaseDamaged(file.path, *file.contents, finding)


def seal_databases(config: Config) -> None:
    """Record the state of the SQLite files, now that no role uses them any more."""
    for file in sqlite_files(config):
        seal(file.path)


def damages(config: Config) -> list[DatabaseDamaged]:
    """Return what would prevent a start, without changing anything."""
    found = []
    for file in sqlite_files(config):
        difference = compare(file.path)
        finding = difference.text if difference else _damage(file, config)
        if finding is not None:
            found.append(DatabaseDamaged(file.path, *file.contents, finding, may_accept=bool(difference)))
    return found


def _damage(file: DatabaseFile, config: Config) -> str | None:
    if not is_absent(file.path):
        return damage_of(file.path)
    if config.log.kind == "local" and has_events(Layout(config.data).log):
        state = "empty" if file.path.exists() else "missing"
        return f"the file is {state}, and the log has events, so there was a database before"
    return None

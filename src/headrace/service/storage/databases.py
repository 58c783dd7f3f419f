"""Every family of tables, the database it is in, whether that is whole, and which versions the tables have."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.auth import tables as auth
from headrace.controlplane import tables as controlplane
from headrace.database.contents import LEDGER, STORE, Contents
from headrace.database.engine import connect_to, open_database
from headrace.database.patience import patiently
from headrace.database.sqlite.admission import admit
from headrace.database.sqlite.comparison import compare
from headrace.database.sqlite.integrity import damage_of
from headrace.database.sqlite.locations import is_absent, sqlite_path
from headrace.database.sqlite.seal import seal
from headrace.database.sqlite.watch import watch
from headrace.database.versions import version_of
from headrace.errors import DatabaseDamaged
from headrace.eventlog.local.segments import has_events
from headrace.jobs import tables as jobs
from headrace.ledger import tables as ledger
from headrace.secrets.masks import without_password
from headrace.service.storage.layout import Layout
from headrace.subscriptions import tables as subscriptions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.config import Config
    from headrace.database.families import Family

IN_STORE = (subscriptions.FAMILY, jobs.FAMILY, controlplane.FAMILY, auth.FAMILY)
IN_LEDGER = (ledger.FAMILY,)
FAMILIES = {family.name: family for family in (*IN_STORE, *IN_LEDGER)}


class Standing(NamedTuple):
    """The version that a family's tables have, None where there is none yet, and the one they get."""

    family: str
    database: str
    version: str | None
    newest: str

    @property
    def is_new(self) -> bool:
        """Whether there is nothing to do."""
        return self.version == self.newest


def standings(config: Config) -> list[Standing]:
    """Look, and change nothing. SchemaRefused where a database is newer than this Headrace."""
    return [_standing(family, url) for family, url in _places(config)]


def migrate(config: Config) -> list[Standing]:
    """Bring every table to the newest version."""
    for family, url in _places(config):
        open_database(url, family, config.store.patience_seconds).dispose()
    return standings(config)


def check_databases(config: Config) -> None:
    """Refuse a start on SQLite files that are damaged, missing or not those that they were: DatabaseDamaged."""
    for file in sqlite_files(config):
        admit(file.path, file.contents)
        finding = _damage(file, config)
        if finding is not None:
            raise DatabaseDamaged(file.path, *file.contents, finding)


def seal_databases(config: Config) -> None:
    """Remember how the SQLite files are left, now that no role uses them any more."""
    for file in sqlite_files(config):
        seal(file.path)


def damages(config: Config) -> list[DatabaseDamaged]:
    """Look, as a start would, and change nothing."""
    found = []
    for file in sqlite_files(config):
        difference = compare(file.path)
        finding = difference.text if difference else _damage(file, config)
        if finding is not None:
            found.append(DatabaseDamaged(file.path, *file.contents, finding, may_accept=bool(difference)))
    return found


class DatabaseFile(NamedTuple):
    """A SQLite database of the configuration."""

    path: Path
    contents: Contents


def sqlite_files(config: Config) -> list[DatabaseFile]:
    """List the SQLite databases, none where a server has them; one that is both is listed as both at once."""
    paths: dict[Path, Contents] = {}
    for contents, url in ((STORE, config.store.url), (LEDGER, config.delivery.url)):
        path = sqlite_path(url)
        if path is not None:
            known = paths.get(path)
            paths[path] = (
                contents if known is None else Contents(known.name, f"{known.held}; {contents.held}")
            )
    return [DatabaseFile(path, contents) for path, contents in paths.items()]


def families_in(config: Config, file: DatabaseFile) -> list[Family]:
    """List the families whose tables are in a SQLite database."""
    return [family for family, url in _places(config) if sqlite_path(url) == file.path]


def _damage(file: DatabaseFile, config: Config) -> str | None:
    if not is_absent(file.path):
        return damage_of(file.path)
    if config.log.kind == "local" and has_events(Layout(config.data).log):
        state = "empty" if file.path.exists() else "missing"
        return f"the file is {state}, and the log has events, so there was a database before"
    return None


def _places(config: Config) -> Iterator[tuple[Family, str]]:
    for family in IN_STORE:
        yield family, config.store.url
    for family in IN_LEDGER:
        yield family, config.delivery.url


def _standing(family: Family, url: str) -> Standing:
    return Standing(family.name, without_password(url), _version(family, url), family.newest)


def _version(family: Family, url: str) -> str | None:
    path = sqlite_path(url)
    if path is not None and not path.exists():
        return None
    engine = connect_to(url)
    if path is not None:
        watch(engine, path, family.contents)
    try:
        return patiently(lambda: version_of(engine, family), 0.0)
    finally:
        engine.dispose()

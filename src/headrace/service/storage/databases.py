"""The families of tables, the databases they are in, and which versions the tables have."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.auth import tables as auth
from headrace.controlplane import tables as controlplane
from headrace.database.engine import connect_to, open_database
from headrace.database.patience import patiently
from headrace.database.sqlite.listeners import watch
from headrace.database.sqlite.locations import sqlite_path
from headrace.database.versions import version_of
from headrace.jobs import tables as jobs
from headrace.ledger import tables as ledger
from headrace.secrets.masks import without_password
from headrace.subscriptions import tables as subscriptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.config import Config
    from headrace.database.families import Family
    from headrace.service.storage.database_files import DatabaseFile

IN_STORE = (subscriptions.FAMILY, jobs.FAMILY, controlplane.FAMILY, auth.FAMILY)
IN_LEDGER = (ledger.FAMILY,)
FAMILIES = {family.name: family for family in (*IN_STORE, *IN_LEDGER)}


class SchemaVersion(NamedTuple):
    """The version of a family's tables, None if there are none yet, and the newest version."""

    family: str
    database: str
    version: str | None
    newest: str

    @property
    def is_new(self) -> bool:
        """Whether the tables have the newest version."""
        return self.version == self.newest


def schema_versions(config: Config) -> list[SchemaVersion]:
    """Return the versions without changing anything; SchemaRefused if a database is newer than this Headrace."""
    return [_schema_version(family, url) for family, url in _places(config)]


def migrate(config: Config) -> list[SchemaVersion]:
    """Migrate all tables to the newest version."""
    for family, url in _places(config):
        open_database(url, family, config.store.patience_seconds).dispose()
    return schema_versions(config)


def families_in(config: Config, file: DatabaseFile) -> list[Family]:
    """List the families whose tables are in a SQLite database."""
    return [family for family, url in _places(config) if sqlite_path(url) == file.path]


def _places(config: Config) -> Iterator[tuple[Family, str]]:
    for family in IN_STORE:
        yield family, config.store.url
    for family in IN_LEDGER:
        yield family, config.delivery.url


def _schema_version(family: Family, url: str) -> SchemaVersion:
    return SchemaVersion(family.name, without_password(url), _version(family, url), family.newest)


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

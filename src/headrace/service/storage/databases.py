"""The families of tables, the databases they are in, and which versions the tables have."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from headrace.auth import tables as auth
from headrace.controlplane import tables as controlplane
from headrace.database.database import Database
from headrace.database.sqlite.locations import sqlite_path
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


class Databases(NamedTuple):
    """The databases of a process, which may be one: each is opened once and handed to all who use it."""

    store: Database
    ledger: Database


@contextmanager
def open_databases(config: Config, patience: float) -> Iterator[Databases]:
    """Open the databases for as long as a process works; calls try for so many seconds to get past a lost one."""
    with Database(config.store.url, patience) as store:
        if config.delivery.url == config.store.url:
            yield Databases(store, store)
        else:
            with Database(config.delivery.url, patience) as ledger:
                yield Databases(store, ledger)


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
    return [_schema_version(family, url) for family, url in _family_urls(config)]


def migrate(config: Config) -> list[SchemaVersion]:
    """Migrate all tables to the newest version."""
    with open_databases(config, config.store.patience_seconds) as databases:
        for family in IN_STORE:
            databases.store.bring_up(family)
        for family in IN_LEDGER:
            databases.ledger.bring_up(family)
    return schema_versions(config)


def families_in(config: Config, file: DatabaseFile) -> list[Family]:
    """List the families whose tables are in a SQLite database."""
    return [family for family, url in _family_urls(config) if sqlite_path(url) == file.path]


def _family_urls(config: Config) -> Iterator[tuple[Family, str]]:
    for family in IN_STORE:
        yield family, config.store.url
    for family in IN_LEDGER:
        yield family, config.delivery.url


def _schema_version(family: Family, url: str) -> SchemaVersion:
    with Database(url) as database:
        return SchemaVersion(family.name, without_password(url), database.version_of(family), family.newest)

"""Opening a SQLite database: only if it is the one that it was."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from headrace.database.contents import LEDGER
from headrace.database.sqlite.comparison import Difference, compare
from headrace.database.sqlite.record import forget_record, new_identity, next_count, read_database, record_of
from headrace.database.sqlite.watch import remember, watch_of
from headrace.errors import DatabaseDamaged
from headrace.telemetry.health import HEALTH

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Engine

    from headrace.database.contents import Contents

_log = logging.getLogger(__name__)


def admit(path: Path, contents: Contents) -> None:
    """Let the database be opened; DatabaseDamaged where it is not what it was, and going on would lose more by it.

    An older ledger is admitted, and told: its cursor is older too, so that deliveries are repeated from there.
    """
    watching = watch_of(path)
    if watching is not None:
        watching.require()
        return
    finding = compare(path)
    if finding is None:
        return
    if finding.difference is Difference.OLDER and contents == LEDGER:
        note = f"the database {path} can be used, but {finding.text}; what was delivered since then is delivered again"
        _log.error("%s; dead letters and attempts since then are lost", note)
        HEALTH.working("database ledger", note, within=float("inf"))
        accept(path)
        return
    may_accept = finding.difference is not Difference.MISSING
    raise DatabaseDamaged(path, *contents, finding.text, may_accept=may_accept)


def accept(path: Path) -> None:
    """Take the database for what it is from now on."""
    forget_record(path)
    remember(path, read_database(path))


def give_identity(engine: Engine, path: Path) -> None:
    """Give the database an identity, if it has none, and remember what it says of itself."""
    with engine.connect() as connection:
        raw: Any = connection.connection.dbapi_connection
        if record_of(raw).identity == 0:
            raw.execute("BEGIN IMMEDIATE")
            found = record_of(raw)
            if found.identity == 0:  # of several that start at once, one does it
                raw.execute(f"PRAGMA application_id={new_identity()}")
                raw.execute(f"PRAGMA user_version={next_count(found.commits)}")
            raw.commit()
        remember(path, record_of(raw))

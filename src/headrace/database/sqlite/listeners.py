"""SQLAlchemy engines that report to the watch of their SQLite file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import event

from headrace.database.sqlite.watch import watch_for

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Engine

    from headrace.database.contents import Contents
    from headrace.database.sqlite.watch import Watch


def watch(engine: Engine, path: Path, contents: Contents) -> Watch:
    """Watch a file for as long as an engine uses it."""
    found = watch_for(engine, path, contents)
    for name, listener in found.listeners().items():
        event.listen(engine, name, listener)
    return found

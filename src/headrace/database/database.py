"""One database: opened once in a process by whoever wires it, and handed to everybody who keeps rows in it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from sqlalchemy import event

from headrace.database import versions
from headrace.database.engine import connect_to, make_file
from headrace.database.patience import patiently, watch_commits
from headrace.database.sqlite.admission import admit, give_identity
from headrace.database.sqlite.locations import sqlite_path
from headrace.database.sqlite.watch import watch_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from headrace.database.companion import Companion
    from headrace.database.contents import Contents
    from headrace.database.families import Family


class Database:
    """Threads may share it; another process opens its own, a forked one too. Whoever opened it closes it.

    Nothing is read or made before `bring_up`. Calls of those who keep rows here try for `patience` seconds to get past
    a lost connection or a lock.
    """

    def __init__(self, url: str, patience: float = 0.0) -> None:
        self.url = url
        self.patience = patience
        self.engine = connect_to(url)
        self._path = sqlite_path(url)
        self._is_watched = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()

    def bring_up(self, family: Family) -> None:
        """Let the family's tables be of the newest version; whoever uses them does this first.

        DatabaseDamaged where a SQLite file is not the one that it was.
        """
        path = self._path
        if path is not None:
            admit(path, family.contents)
            make_file(path)
        self._watch(family.contents)
        patiently(lambda: versions.bring_up(self.engine, family), self.patience)
        if path is not None:
            patiently(lambda: give_identity(self.engine, path), self.patience)

    def version_of(self, family: Family) -> str | None:
        """Return the version of the family's tables and change nothing; None where there are none."""
        if self._path is not None and not self._path.exists():
            return None
        self._watch(family.contents)
        return patiently(lambda: versions.version_of(self.engine, family), self.patience)

    def reading(self) -> Connection:
        """Return a connection to read with, as the context of what reads."""
        return self.engine.connect()

    @contextmanager
    def writing(self, along: Companion | None = None) -> Iterator[Connection]:
        """Yield a connection in a transaction: all that is done here is committed, with what goes along, or nothing."""
        with self.engine.begin() as connection:
            yield connection
            if along is not None and not along.is_committed:
                along.write(connection)
        if along is not None:
            along.is_committed = True

    def _watch(self, contents: Contents) -> None:
        """Watch a SQLite file, and the commits last: what the watch of the file does at a commit can fail."""
        found = None if self._path is None else watch_for(self.engine, self._path, contents)
        if self._is_watched:
            return
        self._is_watched = True
        if found is not None:
            for name, listener in found.listeners().items():
                event.listen(self.engine, name, listener)
        watch_commits(self.engine)

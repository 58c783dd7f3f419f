"""Writing something in the transaction of a change that somebody else makes.

Whoever lets a change be made says what goes with it, for the calls that follow in the same context, those in other
threads included. It is written when the first transaction of that database is committed, and in it: after a crash both
are there, or neither is.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from sqlalchemy import event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import URL, Connection, Engine


class _Companion:
    """What goes with one change, and the connection that wrote it."""

    def __init__(self, url: URL, write: Callable[[Connection], object]) -> None:
        self.url = url
        self.write = write
        self.written_by: Connection | None = None
        self.is_over = False

    def is_for(self, connection: Connection) -> bool:
        """Tell whether it waits to be written, and to this database."""
        return not self.is_over and self.written_by is None and self.url == connection.engine.url


_companion: ContextVar[_Companion | None] = ContextVar("companion", default=None)


@contextmanager
def alongside(url: URL, write: Callable[[Connection], object]) -> Iterator[None]:
    """Let `write` be called in the first transaction that the calls in here commit to the database at `url`.

    It may be called again, where that transaction is rolled back after all.
    """
    companion = _Companion(url, write)
    token = _companion.set(companion)
    try:
        yield
    finally:
        _companion.reset(token)
        companion.is_over = True  # for what was begun in here and goes on


def carry_companions(engine: Engine) -> None:
    """Let transactions of an engine take along what goes with them."""
    event.listen(engine, "commit", _write)
    event.listen(engine, "rollback", _write_again)


def _write(connection: Connection) -> None:
    companion = _companion.get()
    if companion is not None and companion.is_for(connection):
        companion.write(connection)
        companion.written_by = connection


def _write_again(connection: Connection) -> None:
    companion = _companion.get()
    if companion is not None and companion.written_by is connection:
        companion.written_by = None

"""Stores over a database of their own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import Engine

from headrace.database.database import Database
from headrace.database.families import Family

_Kept = TypeVar("_Kept")


@contextmanager
def opening(
    kind: Callable[..., _Kept], url: str, *given: Any, patience: float = 0.0, **named: Any
) -> Iterator[_Kept]:
    """Open what keeps its rows in a database, and the database too, as another process would."""
    with Database(url, patience) as database:
        yield kind(database, *given, **named)


def engine_of(url: str, family: Family) -> Engine:
    """Return the engine of a new database with the family's tables; whoever asks for it disposes of it."""
    database = Database(url)
    try:
        database.bring_up(family)
    except BaseException:
        database.close()
        raise
    return database.engine

"""Work that is asked for now and done later, as rows of a table: who does it, and how it ends.

Each kind of work has a table of its own, beside the rows that change in its transactions. Work that is taken has a
`claim`; work that is listed has `state`, `asked`, `ended`, `error` and `namespace`; and where whoever takes it may die,
`due` says from when on somebody else may have it.
"""

from __future__ import annotations

import enum
import time
import uuid
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from sqlalchemy import insert, select, update

from headrace.database.patience import once, repeatable
from headrace.errors import Conflict, NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Table

    from headrace.database.companion import Companion
    from headrace.database.database import Database

_Work = TypeVar("_Work")


class State(enum.StrEnum):
    """Where work stands. It leaves the first two once, and the others never."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_end(self) -> bool:
        """Whether nothing happens to the work any more."""
        return self not in OPEN


OPEN = (State.WAITING, State.RUNNING)


class WorkQueue(ABC, Generic[_Work]):
    """Threads and processes may share the database; calls block, so an event loop makes them in a thread.

    What takes a connection is a part of its transaction.
    """

    table: ClassVar[Table]
    noun: ClassVar[str]

    def __init__(self, database: Database) -> None:
        self.database = database

    @staticmethod
    @abstractmethod
    def to_row(work: _Work) -> dict[str, Any]:
        """Return the row of new work."""

    @staticmethod
    @abstractmethod
    def from_row(row: Row[Any]) -> _Work:
        """Read a row."""

    @classmethod
    def put(cls, connection: Connection, work: _Work) -> _Work:
        """Write work down."""
        connection.execute(insert(cls.table).values(cls.to_row(work)))
        return work

    @once
    def add(self, work: _Work, along: Companion | None = None) -> _Work:
        """Write work down; whoever does it begins at the next look."""
        with self.database.writing(along) as connection:
            return self.put(connection, work)

    @repeatable
    def get(self, work_id: str) -> _Work:
        """Return the work, or raise NotFound."""
        return self.from_row(self._row(work_id))

    def _take(
        self, limit: int, order: Sequence[ColumnElement[Any]], *free: ColumnElement[bool], **values: Any
    ) -> Sequence[Row[Any]]:
        """Claim work that is free, each piece for one taker; what another one is just taking is passed over."""
        found = select(self.table.c.id).where(*free).order_by(*order).limit(limit)
        with self.database.reading() as connection:  # who looks in vain locks nothing
            if connection.execute(found).first() is None:
                return []
        # As a table of its own: PostgreSQL may run a subquery anew for each row that was claimed, and claim them all.
        free_now = found.with_for_update(skip_locked=True).cte("free_now")
        taking = update(self.table).where(self.table.c.id.in_(select(free_now.c.id)))
        claimed = taking.values(claim=str(uuid.uuid4()), **values).returning(self.table)
        with self.database.writing() as connection:
            return connection.execute(claimed).all()

    def _row(self, work_id: str) -> Row[Any]:
        with self.database.reading() as connection:
            row = connection.execute(select(self.table).where(self.table.c.id == work_id)).first()
        if row is None:
            raise NotFound(self.noun, work_id)
        return row


class ListedWorkQueue(WorkQueue[_Work]):
    """Work that is shown to those who asked for it, and may be cancelled. It stays in the list when it has ended."""

    now: ClassVar[Callable[[], object]] = time.time
    """How the table tells when work ended."""

    @repeatable
    def list(
        self, /, *, limit: int = 1000, namespaces: Collection[str] | None = None, **members: str | None
    ) -> list[_Work]:
        """List work, of some namespaces or of all, and with these members where they are given, the newest first."""
        columns = self.table.c
        query = select(self.table).order_by(columns.asked.desc(), columns.id).limit(limit)
        query = query.where(*(columns[name] == each for name, each in members.items() if each is not None))
        if namespaces is not None:
            query = query.where(columns.namespace.in_(sorted(namespaces)))
        with self.database.reading() as connection:
            return [self.from_row(row) for row in connection.execute(query)]

    @once
    def cancel(self, work_id: str, along: Companion | None = None) -> _Work:
        """End work; whoever does it finds out at the next step. Conflict where it has ended already."""
        with self.database.writing(along) as connection:
            ended = self.end(connection, State.CANCELLED, self.table.c.id == work_id)
        row = self._row(work_id)
        if not ended:
            raise Conflict(f"{self.noun} {work_id} is {row.state} already")
        return self.from_row(row)

    @classmethod
    def end(cls, connection: Connection, state: State, *which: ColumnElement[bool], **values: Any) -> int:
        """End what has not ended, of the work that the conditions name; return how many pieces that are."""
        is_open = cls.table.c.state.in_(OPEN)
        ending = update(cls.table).where(*which, is_open).values(cls.end_values(state) | values)
        return connection.execute(ending).rowcount

    @classmethod
    def end_values(cls, state: State) -> dict[str, Any]:
        """Return the values of a row whose work has ended: nobody has it, and nobody may take it."""
        free = {name: None for name in ("claim", "due") if name in cls.table.c}
        return {"state": state, "ended": cls.now(), **free}

"""The list of redrives. The API writes one down, and the dispatchers do it, each for the shares it holds.

How far a share is, is written in the transaction that moves its deliveries: a crash neither skips nor repeats any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import case, delete, func, insert, select, update

from headrace.clock import CLOCK
from headrace.database.patience import repeatable
from headrace.database.work_queue import ListedWorkQueue, State
from headrace.ledger.redrives.redrive import Delivered, Redrive, parse_redrive
from headrace.ledger.tables import REDRIVE_SHARES, REDRIVES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row


class Redrives(ListedWorkQueue[Redrive]):
    """The queue of redrives. Nobody takes one: all dispatchers work on it, and hold their shares of the outbox."""

    table = REDRIVES
    noun = "redrive"

    @repeatable
    def running(self) -> list[Redrive]:
        """List those that are under way, the oldest first."""
        query = select(REDRIVES).where(REDRIVES.c.state == State.RUNNING).order_by(REDRIVES.c.asked)
        with self.database.reading() as connection:
            return [self.from_row(row) for row in connection.execute(query)]

    @staticmethod
    def to_row(redrive: Redrive) -> dict[str, Any]:
        """Return the row of a new redrive."""
        return {
            "id": redrive.id,
            "request": msgspec.json.encode(redrive.request.document()).decode(),
            "only": None if redrive.only is None else msgspec.json.encode(redrive.only).decode(),
            "state": redrive.state,
            "found": redrive.found,
            "moved": 0,
            "slot": 0.0,
            "asked": redrive.asked,
            "namespace": redrive.namespace,
        }

    @staticmethod
    def from_row(row: Row[Any]) -> Redrive:
        """Read a row."""
        request, _ = parse_redrive(msgspec.json.decode(row.request))
        return Redrive(
            request=request,
            found=row.found,
            only=None if row.only is None else msgspec.json.decode(row.only, type=Delivered),
            id=row.id,
            state=State(row.state),
            moved=row.moved,
            asked=row.asked,
            ended=row.ended,
            error=row.error,
            namespace=row.namespace,
        )


def fail(connection: Connection, redrive_id: str, error: str) -> None:
    """End it, and say why."""
    Redrives.end(connection, State.FAILED, REDRIVES.c.id == redrive_id, error=error)


def finish(connection: Connection, redrive_id: str) -> None:
    """It is done."""
    Redrives.end(connection, State.DONE, REDRIVES.c.id == redrive_id)


def advance(connection: Connection, redrive: Redrive, moved: int) -> float | None:
    """Count deliveries that move in this transaction; return when the first of them may be due.

    None where the redrive was cancelled: then nothing may move. It holds the row's lock until the transaction ends.
    """
    now, rate = CLOCK.time(), redrive.request.rate
    seconds = moved / rate if rate else 0.0
    begin = case((REDRIVES.c.slot > now, REDRIVES.c.slot), else_=now)
    is_running = REDRIVES.c.id == redrive.id, REDRIVES.c.state == State.RUNNING
    slot = connection.execute(
        update(REDRIVES)
        .where(*is_running)
        .values(moved=REDRIVES.c.moved + moved, slot=begin + seconds)
        .returning(REDRIVES.c.slot)
    ).scalar()
    return None if slot is None else float(slot) - seconds


def slot(connection: Connection, redrive_id: str) -> float:
    """Return when the next delivery may be due."""
    return float(
        connection.execute(select(REDRIVES.c.slot).where(REDRIVES.c.id == redrive_id)).scalar() or 0.0
    )


def progress(connection: Connection, redrive_id: str, share: int) -> tuple[tuple[Any, ...] | None, bool]:
    """Return the key up to which a share was looked at, and whether that was all of it."""
    its = REDRIVE_SHARES.c.redrive == redrive_id, REDRIVE_SHARES.c.share == share
    row = connection.execute(select(REDRIVE_SHARES).where(*its)).first()
    if row is None:
        return None, False
    return (None if row.place is None else tuple(msgspec.json.decode(row.place))), row.done


def keep_progress(
    connection: Connection, redrive_id: str, share: int, key: Sequence[Any] | None, *, done: bool = False
) -> None:
    """Write down how far a share is."""
    its = REDRIVE_SHARES.c.redrive == redrive_id, REDRIVE_SHARES.c.share == share
    values = {"place": None if key is None else msgspec.json.encode(list(key)).decode(), "done": done}
    if not connection.execute(update(REDRIVE_SHARES).where(*its).values(values)).rowcount:
        connection.execute(insert(REDRIVE_SHARES).values(redrive=redrive_id, share=share, **values))


def finish_if_all(connection: Connection, redrive_id: str, shares: int) -> None:
    """End a redrive when all of its shares are done."""
    done = select(func.count()).where(REDRIVE_SHARES.c.redrive == redrive_id, REDRIVE_SHARES.c.done)
    if (connection.execute(done).scalar() or 0) >= shares:
        finish(connection, redrive_id)


def prune(connection: Connection, ended_before: float) -> int:
    """Forget redrives that ended before a time; return how many."""
    return connection.execute(delete(REDRIVES).where(REDRIVES.c.ended < ended_before)).rowcount

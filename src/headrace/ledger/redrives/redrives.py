"""The list of redrives. The API writes one down, and the dispatchers do it, each for the shares it holds.

How far a share is, is written in the transaction that moves its deliveries: a crash neither skips nor repeats any.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import (
    case,
    delete,
    func,
    insert,
    select,
    update,
)

from headrace.clock import CLOCK
from headrace.errors import Conflict, NotFound
from headrace.ledger.redrives.redrive import Delivered, Redrive, State, parse_redrive
from headrace.ledger.tables import REDRIVE_SHARES, REDRIVES

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import Connection, Row


def add(connection: Connection, redrive: Redrive) -> None:
    """Write it down; dispatchers begin with it at their next look."""
    connection.execute(
        insert(REDRIVES).values(
            id=redrive.id,
            request=msgspec.json.encode(redrive.request.document()).decode(),
            only=None if redrive.only is None else msgspec.json.encode(redrive.only).decode(),
            state=redrive.state,
            found=redrive.found,
            moved=0,
            slot=0.0,
            asked=redrive.asked,
            namespace=redrive.namespace,
        )
    )


def get(connection: Connection, redrive_id: str) -> Redrive:
    """Return it, or raise NotFound."""
    row = connection.execute(select(REDRIVES).where(REDRIVES.c.id == redrive_id)).first()
    if row is None:
        raise NotFound("redrive", redrive_id)
    return _from_row(row)


def newest(connection: Connection, limit: int, namespaces: Collection[str] | None = None) -> list[Redrive]:
    """List them, those of some namespaces or all, the newest first."""
    query = select(REDRIVES).order_by(REDRIVES.c.asked.desc(), REDRIVES.c.id).limit(limit)
    if namespaces is not None:
        query = query.where(REDRIVES.c.namespace.in_(sorted(namespaces)))
    return [_from_row(row) for row in connection.execute(query)]


def running(connection: Connection) -> list[Redrive]:
    """List those that are under way, the oldest first."""
    query = select(REDRIVES).where(REDRIVES.c.state == State.RUNNING).order_by(REDRIVES.c.asked)
    return [_from_row(row) for row in connection.execute(query)]


def cancel(connection: Connection, redrive_id: str) -> Redrive:
    """End it: what has not moved stays where it is. Conflict where it has ended already."""
    if not _end(connection, redrive_id, State.CANCELLED):
        raise Conflict(f"redrive {redrive_id} is {get(connection, redrive_id).state} already")
    return get(connection, redrive_id)


def fail(connection: Connection, redrive_id: str, error: str) -> None:
    """End it, and say why."""
    _end(connection, redrive_id, State.FAILED, error)


def finish(connection: Connection, redrive_id: str) -> None:
    """It is done."""
    _end(connection, redrive_id, State.DONE)


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
    gone = select(REDRIVES.c.id).where(REDRIVES.c.ended < ended_before)
    connection.execute(delete(REDRIVE_SHARES).where(REDRIVE_SHARES.c.redrive.in_(gone)))
    return connection.execute(delete(REDRIVES).where(REDRIVES.c.ended < ended_before)).rowcount


def _end(connection: Connection, redrive_id: str, state: State, error: str | None = None) -> int:
    is_running = REDRIVES.c.id == redrive_id, REDRIVES.c.state == State.RUNNING
    ended = {"state": state, "ended": time.time(), "error": error}
    return connection.execute(update(REDRIVES).where(*is_running).values(ended)).rowcount


def _from_row(row: Row[Any]) -> Redrive:
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

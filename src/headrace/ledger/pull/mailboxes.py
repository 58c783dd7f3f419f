"""What waits to be pulled: one row for each event of a subscription that has no sink, until it is acknowledged.

A row is numbered when it comes in. Within a partition of the log, and within a replay, that is the order of positions.
A consumer holds a row for as long as its lease; then whoever asks next gets it again. The law: an acknowledgement
removes only what its consumer was handed out, so nothing leaves unseen.
"""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import (
    Float,
    bindparam,
    case,
    delete,
    func,
    insert,
    select,
)

from headrace.clock import CLOCK
from headrace.database.conflicts import insert_into
from headrace.database.id_lists import asked, asking
from headrace.ledger.stages import SINK
from headrace.ledger.tables import DEAD, MAILBOX_LOSSES, MAILBOXES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Select


class Message(NamedTuple):
    """One row, as its consumer is handed it."""

    number: int
    subscription: str
    replay: str
    position: int
    time: float
    event: bytes | None
    handed: int


MESSAGE = [MAILBOXES.c[name] for name in Message._fields]


class Fill(NamedTuple):
    """How much waits for a subscription, how much of it consumers hold, and since when the oldest has been there.

    `expired` were not asked for in time, the last of them at `lost`.
    """

    waiting: int
    held: int
    oldest: float | None
    expired: int = 0
    lost: float | None = None


def put(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Let events come in, in this order; what is there already stays as it is.

    A row has `subscription`, `replay`, `position`, `time` and `event`.
    """
    if rows:
        key = ["replay", "position", "subscription"]
        new = {"consumer": "", "until": 0.0, "handed": 0}
        connection.execute(
            insert_into(connection, MAILBOXES).on_conflict_do_nothing(index_elements=key),
            [row | new for row in rows],
        )


def oldest_within(connection: Connection, first: int, last: int) -> int | None:
    """Return the first position of a range of the log that has to be read from there again."""
    query = select(func.min(MAILBOXES.c.position)).where(
        MAILBOXES.c.replay == "", MAILBOXES.c.position.between(first, last), MAILBOXES.c.event.is_(None)
    )
    return connection.execute(query).scalar()


def count_of_replay(connection: Connection, replay: str) -> int:
    """Count what waits of a replay."""
    return connection.execute(select(func.count()).where(MAILBOXES.c.replay == replay)).scalar() or 0


def has_of_replay(connection: Connection, replay: str, first: int, last: int) -> bool:
    """Tell whether any of a replay's events from the first position to the last waits."""
    its = MAILBOXES.c.replay == replay, MAILBOXES.c.position.between(first, last)
    return connection.execute(select(MAILBOXES.c.number).where(*its).limit(1)).first() is not None


def subscriptions(connection: Connection) -> Iterator[str]:
    """Yield the subscriptions that have anything waiting, in order, with one look each."""
    column, last = MAILBOXES.c.subscription, ""
    while (found := connection.execute(select(func.min(column)).where(column > last)).scalar()) is not None:
        yield found
        last = found


def fills(connection: Connection, now: float, among: Sequence[str] | None = None) -> dict[str, Fill]:
    """Tell how full mailboxes are, by subscription: of all of which anything is known, or of some."""
    query, losses = _fills(connection.dialect.name, of_all=among is None)
    ids = {} if among is None else asking(among)
    found = {row[0]: Fill(row[1], row[2], row[3]) for row in connection.execute(query, {"now": now, **ids})}
    for row in connection.execute(losses, ids):
        fill = found.get(row.subscription, Fill(0, 0, None))
        found[row.subscription] = fill._replace(expired=row.expired, lost=row.time)
    return found


@cache
def _fills(dialect: str, *, of_all: bool) -> tuple[Select[Any], Select[Any]]:
    is_held_now = func.sum(case((MAILBOXES.c.until > bindparam("now", type_=Float), 1), else_=0))
    columns = MAILBOXES.c.subscription, func.count(), is_held_now, func.min(MAILBOXES.c.time)
    query, losses = select(*columns).group_by(MAILBOXES.c.subscription), select(MAILBOX_LOSSES)
    if of_all:
        return query, losses
    ids = select(asked(dialect).id)
    return (
        query.where(MAILBOXES.c.subscription.in_(ids)),
        losses.where(MAILBOX_LOSSES.c.subscription.in_(ids)),
    )


def note_losses(connection: Connection, subscription: str, count: int, now: float) -> None:
    """Add to what a subscription's consumers did not ask for in time."""
    more = {"expired": MAILBOX_LOSSES.c.expired + count, "time": now}
    connection.execute(
        insert_into(connection, MAILBOX_LOSSES)
        .values(subscription=subscription, expired=count, time=now)
        .on_conflict_do_update(index_elements=["subscription"], set_=more)
    )


def forget_losses(connection: Connection, subscriptions: Sequence[str]) -> None:
    """Forget what was lost by subscriptions that are gone."""
    gone = delete(MAILBOX_LOSSES).where(MAILBOX_LOSSES.c.subscription == bindparam("gone"))
    if subscriptions:
        connection.execute(gone, [{"gone": each} for each in subscriptions])


def drop(connection: Connection, limit: int, *its: ColumnElement[bool]) -> int:
    """Remove some of what meets these conditions; return how many that were."""
    some = select(MAILBOXES.c.number).where(*its).limit(limit)
    return connection.execute(delete(MAILBOXES).where(MAILBOXES.c.number.in_(some))).rowcount


def first(connection: Connection, subscription: str, limit: int) -> list[Message]:
    """Return what came in first, whoever holds it."""
    its = select(*MESSAGE).where(MAILBOXES.c.subscription == subscription)
    return [Message(*row) for row in connection.execute(its.order_by(MAILBOXES.c.number).limit(limit))]


def overdue(connection: Connection, subscription: str, before: float, most: int, limit: int) -> list[Message]:
    """Return so much of a mailbox as came in before a time or is too much, the oldest first, and nobody holds."""
    its = MAILBOXES.c.subscription == subscription
    excess = (connection.execute(select(func.count()).where(its)).scalar() or 0) - most
    free = MAILBOXES.c.until <= CLOCK.time()
    query = select(*MESSAGE).where(its, free).order_by(MAILBOXES.c.number).limit(limit)
    messages = [Message(*row) for row in connection.execute(query)]
    return [message for rank, message in enumerate(messages) if rank < excess or message.time < before]


def expire(
    connection: Connection, messages: Sequence[Message], events: Mapping[int, bytes] | None, reason: str
) -> None:
    """Bury messages of one subscription; without events, drop them. Either way they are counted."""
    if events is not None:
        bury(connection, messages, events, reason)
    elif messages:
        remove(connection, [message.number for message in messages])
    if messages:
        note_losses(connection, messages[0].subscription, len(messages), time.time())


def remove(connection: Connection, numbers: Iterable[int]) -> None:
    """Remove single rows."""
    gone = delete(MAILBOXES).where(MAILBOXES.c.number == bindparam("gone"))
    connection.execute(gone, [{"gone": number} for number in numbers])


def bury(
    connection: Connection, messages: Sequence[Message], events: Mapping[int, bytes], reason: str
) -> None:
    """Let messages lie with the dead, with their events, by number; one that has none can't be read any more."""
    if not messages:
        return
    remove(connection, [each.number for each in messages])
    keys = [
        {"its_subscription": each.subscription, "its_replay": each.replay, "its_position": each.position}
        for each in messages
    ]
    its = [DEAD.c[name] == bindparam(f"its_{name}") for name in ("subscription", "replay", "position")]
    connection.execute(delete(DEAD).where(DEAD.c.stage == SINK, *its), keys)
    now = time.time()
    dead = [
        {
            "subscription": each.subscription,
            "stage": SINK,
            "replay": each.replay,
            "position": each.position,
            "attempts": each.handed,
            "time": now,
            "reason": reason,
            "event": events.get(each.number, b""),
        }
        for each in messages
    ]
    connection.execute(insert(DEAD), dead)

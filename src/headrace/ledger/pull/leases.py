"""Where consumers get what waits for them: they take messages, acknowledge them, or give them back.

Several consumers may take from one mailbox at once; each gets others' messages only when those let go of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, delete, func, select, update

from headrace.clock import CLOCK
from headrace.database.patience import repeatable
from headrace.ledger.pull import mailboxes
from headrace.ledger.pull.mailboxes import MESSAGE, Message
from headrace.ledger.records import status
from headrace.ledger.tables import FAMILY, IS_HELD, MAILBOXES
from headrace.telemetry.metrics import DELIVERED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection

    from headrace.database.database import Database
    from headrace.ledger.pull.mailboxes import Fill

# How a subscription fares is written down so often.
_REPORT_SECONDS = 5.0
# So far apart may the clocks of machines be that hand out of one mailbox.
_LENIENCE = 60.0


class _Busy(Exception):
    """Another consumer holds something of a mailbox that only one may take from."""


class MessageLeases:
    """Threads and processes may share the database; calls block, so an event loop makes them in a thread."""

    def __init__(self, database: Database) -> None:
        self.database = database
        database.bring_up(FAMILY)
        self._reported: dict[str, float] = {}

    @repeatable
    def take(
        self, subscription: str, consumer: str, lease: float, limit: int, *, alone: bool = False
    ) -> list[Message]:
        """Hand out what nobody holds, the first that came in first, for so many seconds.

        With `alone`, nothing while another consumer holds any: so the order holds for all of them together.
        """
        now = CLOCK.time()
        free = (
            select(MAILBOXES.c.number)
            .where(MAILBOXES.c.subscription == subscription, ~_is_held(now, lease))
            .order_by(MAILBOXES.c.number)
            .limit(limit)
            # Another consumer is just getting those. Who has to be alone waits and sees what it got.
            .with_for_update(skip_locked=not alone)
        )
        taking = (
            update(MAILBOXES)
            .where(MAILBOXES.c.number.in_(free))
            .values(consumer=consumer, until=now + lease, handed=MAILBOXES.c.handed + 1)
            .returning(*MESSAGE)
        )
        try:
            with self.database.writing() as connection:
                messages = sorted(Message(*row) for row in connection.execute(taking))
                if alone and messages:
                    _check_alone(connection, subscription, consumer, _is_held(now, lease))
        except _Busy:
            return []
        return messages

    @repeatable
    def acknowledge(
        self, subscription: str, consumer: str, lease: float, up_to: int | None, numbers: Sequence[int] = ()
    ) -> int:
        """Remove what a consumer is done with: all that it was handed up to a number, and these.

        Whatever else it holds, it holds for another lease: it is alive. Return how many were removed.
        """
        its = MAILBOXES.c.subscription == subscription, MAILBOXES.c.consumer == consumer
        removed = 0
        with self.database.writing() as connection:
            if up_to is not None:
                removed += connection.execute(
                    delete(MAILBOXES).where(*its, MAILBOXES.c.number <= up_to)
                ).rowcount
            if numbers:
                its_number = MAILBOXES.c.number.in_(list(numbers))
                removed += connection.execute(delete(MAILBOXES).where(*its, its_number)).rowcount
            now = CLOCK.time()
            connection.execute(update(MAILBOXES).where(*its, IS_HELD).values(until=now + lease))
            if removed and self._reported.get(subscription, 0.0) < now - _REPORT_SECONDS:
                status.note_success(connection, subscription, now)
                self._reported[subscription] = now
        DELIVERED.inc(removed)
        return removed

    @repeatable
    def give_back(self, subscription: str, consumer: str) -> int:
        """Let go of all that a consumer holds: whoever asks next gets it. Return how many that are.

        It may still acknowledge what nobody else has got meanwhile.
        """
        its = MAILBOXES.c.subscription == subscription, MAILBOXES.c.consumer == consumer
        return self._write(update(MAILBOXES).where(*its, IS_HELD).values(until=0.0))

    @repeatable
    def take_back(self, subscription: str, numbers: Sequence[int]) -> None:
        """Let go of what was taken and not handed out after all."""
        if not numbers:
            return
        its = MAILBOXES.c.subscription == subscription, MAILBOXES.c.number.in_(list(numbers))
        self._write(update(MAILBOXES).where(*its).values(until=0.0, handed=MAILBOXES.c.handed - 1))

    @repeatable
    def held(self, subscription: str, consumer: str) -> tuple[int, float]:
        """Return how many a consumer holds, and until when at the longest."""
        its = MAILBOXES.c.subscription == subscription, MAILBOXES.c.consumer == consumer
        with self.database.reading() as connection:
            row = connection.execute(
                select(func.count(), func.max(MAILBOXES.c.until)).where(*its, IS_HELD)
            ).one()
        return row[0], row[1] or 0.0

    @repeatable
    def arrived(self, after: int) -> tuple[int, set[str]]:
        """Return the newest number of all, and whose mailboxes got anything numbered higher than that."""
        with self.database.reading() as connection:
            newest = connection.execute(select(func.max(MAILBOXES.c.number))).scalar() or 0
            if newest <= after:
                return after, set()
            new = select(MAILBOXES.c.subscription).where(MAILBOXES.c.number > after).distinct()
            return newest, set(connection.execute(new).scalars())

    @repeatable
    def fill(self, subscription: str) -> Fill:
        """Tell how full a mailbox is."""
        with self.database.reading() as connection:
            found = mailboxes.fills(connection, CLOCK.time(), [subscription])
        return found.get(subscription, mailboxes.Fill(0, 0, None))

    @repeatable
    def discard(self, numbers: Sequence[int]) -> None:
        """Remove what nobody wants any more."""
        self._write(delete(MAILBOXES).where(MAILBOXES.c.number.in_(list(numbers))))

    @repeatable
    def bury(self, messages: Iterable[Message], events: Mapping[int, bytes], reason: str) -> None:
        """Give messages up and keep their events, by number; one that has none can't be read any more."""
        given_up = list(messages)
        with self.database.writing() as connection:
            mailboxes.bury(connection, given_up, events, reason)

    def _write(self, statement: Any) -> int:
        with self.database.writing() as connection:
            return int(connection.execute(statement).rowcount)


def _is_held(now: float, lease: float) -> ColumnElement[bool]:
    """Say what somebody holds. Nobody holds anything for longer than a lease: the clock was set back since."""
    return and_(MAILBOXES.c.until > now, MAILBOXES.c.until <= now + lease + _LENIENCE)


def _check_alone(
    connection: Connection, subscription: str, consumer: str, is_held: ColumnElement[bool]
) -> None:
    others = select(MAILBOXES.c.number).where(
        MAILBOXES.c.subscription == subscription,
        IS_HELD,
        MAILBOXES.c.consumer != consumer,
        is_held,
    )
    if connection.execute(others.limit(1)).first() is not None:
        raise _Busy

"""What the dispatcher must not forget: how far it got, what waits for another attempt, what it gave up.

The cursor is a cut of the log: every delivery of an event before it was acknowledged, waits here, or lies with the
dead. Changes are collected and committed together, the cursor last, so that a crash repeats and never loses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, delete, func, insert, or_, select, true, tuple_, update

from headrace.clock import CLOCK
from headrace.database.conflicts import insert_into
from headrace.database.patience import once, repeatable
from headrace.database.rows import delete_rows, insert_rows
from headrace.eventlog.local.identity import LogIdentity
from headrace.eventlog.outbox_partitions import WHOLE_OUTBOX, OutboxPartitions
from headrace.events.positions import LogPosition, partition_of, position_at
from headrace.ledger import schedule, settled
from headrace.ledger.pull import mailboxes
from headrace.ledger.records import attempts
from headrace.ledger.stages import SINK
from headrace.ledger.tables import CURSOR, DEAD, FAMILY, LOG_IDENTITY, MAILBOXES, REPLAY_CURSORS, WAITING
from headrace.ledger.texts import storable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Table

    from headrace.database.database import Database
    from headrace.ledger.pull.mailboxes import Message
    from headrace.ledger.records.attempts import Attempt
    from headrace.ledger.settled import Settled

_FORGOTTEN_AT_A_TIME = 10_000


class Key(NamedTuple):
    """One planned delivery. What a replay delivers has its name, so that it never meets what is delivered live.

    A delivery is at one stage at a time: where it goes on to the next, one commit ends the one and begins the other.
    """

    subscription: str
    position: int
    replay: str = ""
    stage: str = SINK


_WAITING_COLUMNS = (*Key._fields, "attempts", "due", "reason", "event", "failure", "share", "order_key")
_DEAD_COLUMNS = (*Key._fields, "attempts", "time", "reason", "event")


class Wait(NamedTuple):
    """A delivery that is tried again when it is due; `attempts` were made already at its stage.

    `event` is what goes out where it can't be read elsewhere, `failure` why it is a dead letter. `order_key` tells what
    it must not overtake, where the subscription asks for order by `partitionkey`.
    """

    key: Key
    attempts: int
    due: float
    reason: str
    event: bytes | None = None
    failure: str | None = None
    order_key: str | None = None


class GivenUp(NamedTuple):
    """A delivery that is given up at the stage `sink` or `reply`, with the event of that stage."""

    key: Key
    attempts: int
    time: float
    reason: str
    event: bytes


class WaitBatch(NamedTuple):
    """Events of the log, each for the sink of one subscription, that were not attempted and wait for the same reason.

    What the ledger holds already stays as it is.
    """

    subscription: str
    positions: Sequence[int]
    due: float
    reason: str


@dataclass(frozen=True, slots=True)
class Changes:
    """What one commit makes durable. `passed` are the numbers of `settled` rows that nobody needs any more."""

    waits: Sequence[Wait]
    burials: Sequence[GivenUp]
    finished: Sequence[Key]
    cursor: LogPosition | None
    replay_cursors: Mapping[str, int] = field(default_factory=dict)
    attempts: Sequence[Attempt] = ()
    batches: Sequence[WaitBatch] = ()
    settled: Sequence[Settled] = ()
    passed: Sequence[int] = ()


class Ledger:
    """Calls block; any thread may make them. Whoever holds the shares is the only writer, from one thread."""

    def __init__(self, database: Database, shares: OutboxPartitions = WHOLE_OUTBOX) -> None:
        self.database = database
        database.bring_up(FAMILY)
        self._shares = shares

    @repeatable
    def cursor(self) -> LogPosition:
        """Return the cut from which the outbox is read on: before it, every share held here is settled."""
        cursors = self.cursors()
        return reduce(LogPosition.meet, (cursors.get(share, LogPosition()) for share in self._shares.own))

    @repeatable
    def cursors(self) -> dict[int, LogPosition]:
        """Return how far each share is settled, those of other dispatchers as well."""
        with self.database.reading() as connection:
            return {row.share: LogPosition.from_json(row.cut) for row in connection.execute(select(CURSOR))}

    @repeatable
    def log_identity(self) -> LogIdentity | None:
        """Return which log the positions here are of, where that was said."""
        with self.database.reading() as connection:
            row = connection.execute(select(LOG_IDENTITY)).first()
        return None if row is None else LogIdentity(row.name, row.starts)

    @repeatable
    def set_log_identity(self, identity: LogIdentity) -> None:
        """Say which log they are of from now on."""
        with self.database.writing() as connection:
            connection.execute(delete(LOG_IDENTITY))
            connection.execute(insert(LOG_IDENTITY).values(name=identity.name, starts=identity.starts))

    @repeatable
    def commit(self, changes: Changes) -> None:
        """Make the changes durable, all or none."""
        with self.database.writing() as connection:
            buried = [burial.key for burial in changes.burials]
            gone = [*changes.finished, *buried, *(wait.key for wait in changes.waits)]
            delete_rows(connection, WAITING, Key._fields, gone)
            delete_rows(connection, DEAD, Key._fields, buried)
            insert_rows(connection, WAITING, _WAITING_COLUMNS, list(_wait_rows(changes.waits, self._shares)))
            of_batches = list(_batch_rows(changes.batches, self._shares))
            insert_rows(connection, WAITING, _WAITING_COLUMNS, of_batches, but_known=True)
            insert_rows(connection, DEAD, _DEAD_COLUMNS, list(_dead_rows(changes.burials)))
            if changes.cursor is not None:
                self._move_cursors(connection, changes.cursor)
            for replay, number in changes.replay_cursors.items():
                connection.execute(delete(REPLAY_CURSORS).where(REPLAY_CURSORS.c.replay == replay))
                connection.execute(insert(REPLAY_CURSORS).values(replay=replay, number=number))
            attempts.write(connection, changes.attempts)
            settled.write(connection, changes.settled, self._shares)
            settled.drop(connection, self._shares.own, changes.passed)

    def _move_cursors(self, connection: Connection, cut: LogPosition) -> None:
        """Move the cursors of the shares held here. One that was ahead of the others stays there."""
        is_own = CURSOR.c.share.in_(sorted(self._shares.own))
        rows = connection.execute(select(CURSOR).where(is_own)).all()
        known = {row.share: LogPosition.from_json(row.cut) for row in rows}
        connection.execute(delete(CURSOR).where(is_own))
        moved = [
            {"share": share, "cut": known.get(share, LogPosition()).join(cut).to_json()}
            for share in sorted(self._shares.own)
        ]
        connection.execute(insert(CURSOR), moved)

    @repeatable
    def settled(self) -> tuple[list[Settled], int]:
        """Return what was settled behind the cursor, and the number that the next row of it may have."""
        with self.database.reading() as connection:
            return list(settled.read(connection, self._shares.own)), settled.next_number(connection)

    # What waits

    @repeatable
    def earliest(self) -> list[schedule.Entry]:
        """Return, for each subscription and stage with waiting deliveries, when the earliest is due.

        Its cost follows the number of subscriptions that wait, not the number of what waits for them.
        """
        with self.database.reading() as connection:
            return schedule.earliest(connection, sorted(self._shares.own))

    @repeatable
    def bring_forward(self, latest: Mapping[tuple[str, str], float], due: float) -> None:
        """Let what waits for a subscription and stage, and is due after a time, be due at another one."""
        its = tuple(
            WAITING.c[name] == bindparam(f"its_{name}") for name in ("share", "stage", "subscription")
        )
        later = update(WAITING).where(*its, WAITING.c.due > bindparam("latest")).values(due=due)
        rows = [
            {
                "its_share": self._shares.of(subscription),
                "its_stage": stage,
                "its_subscription": subscription,
                "latest": moment,
            }
            for (subscription, stage), moment in latest.items()
        ]
        if rows:
            with self.database.writing() as connection:
                connection.execute(later, rows)

    @repeatable
    def due(self, subscription: str, stage: str, now: float, limit: int) -> list[Wait]:
        """Return so many deliveries of a subscription that are due, those first that have been for longest."""
        query = (
            select(WAITING)
            .where(*self._of(subscription, stage), WAITING.c.due <= now)
            .order_by(WAITING.c.due, WAITING.c.position)
            .limit(limit)
        )
        with self.database.reading() as connection:
            return [_wait_of(row) for row in connection.execute(query)]

    @repeatable
    def next_due(self, subscription: str, stage: str, after: float) -> float | None:
        """Return when the next delivery is due that isn't at this moment."""
        query = select(func.min(WAITING.c.due)).where(*self._of(subscription, stage), WAITING.c.due > after)
        with self.database.reading() as connection:
            return connection.execute(query).scalar()

    @repeatable
    def in_order(self, subscription: str, limit: int, left_out: Collection[str] = ()) -> list[Wait]:
        """Return what waits for the sink in order of position, due or not, without what has one of these order keys.

        Each partition of the log, and each replay, has its own order and the same part of the limit.
        """
        chosen = (
            or_(WAITING.c.order_key.is_(None), WAITING.c.order_key.not_in(left_out)) if left_out else true()
        )
        waits: list[Wait] = []
        with self.database.reading() as connection:
            groups = list(_groups(connection, subscription))
            part = -(-limit // max(1, len(groups)))
            for replay, partition in groups:
                within = WAITING.c.position.between(
                    position_at(partition, 0), position_at(partition + 1, 0) - 1
                )
                query = select(WAITING).where(
                    WAITING.c.subscription == subscription,
                    WAITING.c.stage == SINK,
                    WAITING.c.replay == replay,
                    within,
                    chosen,
                )
                rows = connection.execute(query.order_by(WAITING.c.position).limit(part))
                waits += [_wait_of(row) for row in rows]
        return waits

    @repeatable
    def has_keys(self, subscription: str) -> bool:
        """Tell whether all that waits for the sink has an order key: not what an older version has written."""
        query = select(WAITING.c.position).where(
            WAITING.c.subscription == subscription, WAITING.c.stage == SINK, WAITING.c.order_key.is_(None)
        )
        with self.database.reading() as connection:
            return connection.execute(query.limit(1)).first() is None

    def _of(self, subscription: str, stage: str) -> tuple[ColumnElement[bool], ...]:
        return (
            WAITING.c.share == self._shares.of(subscription),
            WAITING.c.stage == stage,
            WAITING.c.subscription == subscription,
        )

    @repeatable
    def needed_before(self, cut: LogPosition) -> LogPosition:
        """Return the cut, taken back to the oldest event in each partition that is still needed for another attempt."""
        oldest = dict(cut)
        with self.database.reading() as connection:
            for partition, position in cut.items():
                within = WAITING.c.position.between(position_at(partition, 0), position - 1)
                query = select(func.min(WAITING.c.position)).where(
                    WAITING.c.replay == "", within, WAITING.c.event.is_(None)
                )
                waiting = connection.execute(query).scalar()
                pulled = mailboxes.oldest_within(connection, position_at(partition, 0), position - 1)
                oldest[partition] = min(each for each in (position, waiting, pulled) if each is not None)
        return LogPosition(oldest)

    @repeatable
    def last_kept(self) -> LogPosition:
        """Return the cut behind all that waits, is dead or was settled: from it on, nothing planned is known here."""
        ends: dict[int, int] = {}
        with self.database.reading() as connection:
            for row in settled.read(connection, self._shares.own, ""):
                ends |= row.end().join(LogPosition(ends))
            for table in (WAITING, DEAD):
                end: int | None = None
                while (last := _last_position(connection, table, end)) is not None:
                    partition = partition_of(last)
                    ends[partition] = max(ends.get(partition, 0), last + 1)
                    end = position_at(partition, 0)
        return LogPosition(ends)

    @repeatable
    def kept(self, first: int, last: int, replay: str = "") -> set[tuple[str, int]]:
        """Return what waits, is dead or was settled, at any stage, of the events from the first position to the last.

        These must not be begun a second time: a crash came before the cursor had passed them.
        """
        found: set[tuple[str, int]] = set()
        with self.database.reading() as connection:
            for table in (WAITING, DEAD):
                query = select(table.c.subscription, table.c.position).where(
                    table.c.replay == replay, table.c.position.between(first, last)
                )
                found.update((row.subscription, row.position) for row in connection.execute(query))
            for _, _, pairs in settled.read(connection, self._shares.own, replay):
                for subscription, positions in pairs.items():
                    found.update((subscription, each) for each in positions if first <= each <= last)
        return found

    @repeatable
    def forget(self, subscription: str, stage: str | None = None) -> int:
        """Drop what waits for a subscription that ended, so much as one commit should; return how many that were."""
        its = [WAITING.c.subscription == subscription]
        if stage is not None:
            its.append(WAITING.c.stage == stage)
        return self._drop(its)

    def _drop(self, its: Sequence[ColumnElement[bool]]) -> int:
        key = tuple_(*(WAITING.c[name] for name in ("subscription", "stage", "replay", "position")))
        some = select(*key.clauses).where(*its).limit(_FORGOTTEN_AT_A_TIME)
        with self.database.writing() as connection:
            return connection.execute(delete(WAITING).where(key.in_(some))).rowcount

    # Replays

    @repeatable
    def replay_cursor(self, replay: str) -> int:
        """Return the number of the event from which a replay goes on."""
        with self.database.reading() as connection:
            query = select(REPLAY_CURSORS.c.number).where(REPLAY_CURSORS.c.replay == replay)
            return int(connection.execute(query).scalar() or 0)

    @repeatable
    def replay_counts(self, replay: str) -> tuple[int, int]:
        """Return how many of a replay's events wait for the sink, or a consumer, and how many were given up."""
        with self.database.reading() as connection:
            waiting, dead = (
                connection.execute(
                    select(func.count()).where(table.c.replay == replay, table.c.stage == SINK)
                ).scalar()
                for table in (WAITING, DEAD)
            )
            pulled = mailboxes.count_of_replay(connection, replay)
        return (waiting or 0) + pulled, dead or 0

    @repeatable
    def replay_waits_within(self, replay: str, first: int, last: int) -> bool:
        """Tell whether any of a replay's events from the first position to the last waits for sink or consumer."""
        query = select(WAITING.c.position).where(
            WAITING.c.replay == replay, WAITING.c.position.between(first, last), WAITING.c.stage == SINK
        )
        with self.database.reading() as connection:
            waits = connection.execute(query.limit(1)).first() is not None
            return waits or mailboxes.has_of_replay(connection, replay, first, last)

    @repeatable
    def forget_replay(self, replay: str) -> int:
        """Drop a replay's cursor and what waits of it for the sink; return how many that were.

        The dead stay, and replies and dead letters still go out: they don't need the replay.
        """
        with self.database.writing() as connection:
            connection.execute(delete(REPLAY_CURSORS).where(REPLAY_CURSORS.c.replay == replay))
            settled.drop_replay(connection, replay)
        dropped = 0
        while some := self._drop([WAITING.c.replay == replay, WAITING.c.stage == SINK]):
            dropped += some
        return dropped + self._drop_mail(MAILBOXES.c.replay == replay)

    # What waits to be pulled

    @repeatable
    def put_mail(self, rows: Sequence[dict[str, Any]]) -> None:
        """Let events come into mailboxes, durably; see `mailboxes.put`."""
        with self.database.writing() as connection:
            mailboxes.put(connection, rows)

    @repeatable
    def move_to_mail(self, waits: Sequence[Wait]) -> None:
        """Let deliveries wait in their mailboxes, of subscriptions that have no sink."""
        with self.database.writing() as connection:
            delete_rows(connection, WAITING, Key._fields, [wait.key for wait in waits])
            mailboxes.put(
                connection,
                [
                    {
                        "subscription": wait.key.subscription,
                        "replay": wait.key.replay,
                        "position": wait.key.position,
                        "time": CLOCK.time(),
                        "event": wait.event,
                    }
                    for wait in waits
                ],
            )

    def move_from_mail(self, subscription: str) -> int:
        """Let what waits in a mailbox wait for the sink instead that its subscription has now; return how many."""
        moved = 0
        while some := self._move_from_mail(subscription):
            moved += some
        return moved

    @repeatable
    def _move_from_mail(self, subscription: str) -> int:
        with self.database.writing() as connection:
            messages = mailboxes.first(connection, subscription, _FORGOTTEN_AT_A_TIME)
            if messages:
                mailboxes.remove(connection, [message.number for message in messages])
                rows = [self._waiting_row(message) for message in messages]
                connection.execute(insert_into(connection, WAITING).on_conflict_do_nothing(), rows)
        return len(messages)

    def _waiting_row(self, message: Message) -> dict[str, Any]:
        return {
            "subscription": message.subscription,
            "stage": SINK,
            "replay": message.replay,
            "position": message.position,
            "attempts": 0,
            "due": CLOCK.time(),
            "reason": "it waited to be pulled",
            "event": message.event,
            "failure": None,
            "share": self._shares.of(message.subscription),
        }

    @repeatable
    def mail_of_replay(self, replay: str) -> int:
        """Count what waits of a replay in a mailbox."""
        with self.database.reading() as connection:
            return mailboxes.count_of_replay(connection, replay)

    @repeatable
    def who_has_mail(self) -> list[str]:
        """Return the subscriptions that have anything waiting to be pulled."""
        with self.database.reading() as connection:
            return list(mailboxes.subscriptions(connection))

    @repeatable
    def overdue_mail(self, subscription: str, before: float, most: int, limit: int) -> list[Message]:
        """Return so much of a mailbox as came in before a time or is too much, and nobody holds."""
        with self.database.reading() as connection:
            return mailboxes.overdue(connection, subscription, before, most, limit)

    @once
    def expire_mail(
        self, messages: Sequence[Message], events: Mapping[int, bytes] | None, reason: str
    ) -> None:
        """Let messages of one subscription lie with the dead, with their events; without any, drop them. Count them."""
        with self.database.writing() as connection:
            mailboxes.expire(connection, messages, events, reason)

    def forget_mail(self, subscription: str) -> int:
        """Drop what waits in the mailbox of a subscription that ended; return how many that were."""
        return self._drop_mail(MAILBOXES.c.subscription == subscription)

    @repeatable
    def _drop_mail(self, its: ColumnElement[bool]) -> int:
        dropped = 0
        while True:
            with self.database.writing() as connection:
                some = mailboxes.drop(connection, _FORGOTTEN_AT_A_TIME, its)
            if not some:
                return dropped
            dropped += some

    @repeatable
    def count(self) -> tuple[int, int]:
        """Return how many deliveries wait and how many are dead."""
        with self.database.reading() as connection:
            waiting, dead = (
                connection.execute(select(func.count()).select_from(t)).scalar() for t in (WAITING, DEAD)
            )
        return waiting or 0, dead or 0


def _wait_of(row: Row[Any]) -> Wait:
    key = Key(row.subscription, row.position, row.replay, row.stage)
    return Wait(key, row.attempts, row.due, row.reason, row.event, row.failure, row.order_key)


def _groups(connection: Connection, subscription: str) -> Iterator[tuple[str, int]]:
    """Yield the replays and partitions of which a subscription's sink has something waiting, one seek each."""
    place = tuple_(WAITING.c.replay, WAITING.c.position)
    query = (
        select(WAITING.c.replay, WAITING.c.position)
        .where(WAITING.c.subscription == subscription, WAITING.c.stage == SINK)
        .order_by(WAITING.c.replay, WAITING.c.position)
        .limit(1)
    )
    found = connection.execute(query).first()
    while found is not None:
        partition = partition_of(found.position)
        yield found.replay, partition
        found = connection.execute(
            query.where(place >= (found.replay, position_at(partition + 1, 0)))
        ).first()


def _last_position(connection: Connection, table: Table, before: int | None) -> int | None:
    query = select(func.max(table.c.position)).where(table.c.replay == "")
    if before is not None:
        query = query.where(table.c.position < before)
    return connection.execute(query).scalar()


def _wait_rows(waits: Iterable[Wait], shares: OutboxPartitions) -> Iterator[tuple[Any, ...]]:
    for key, tries, due, reason, event, failure, order_key in waits:
        yield *key, tries, due, storable(reason), event, failure, shares.of(key.subscription), order_key


def _batch_rows(batches: Iterable[WaitBatch], shares: OutboxPartitions) -> Iterator[tuple[Any, ...]]:
    for subscription, positions, due, reason in batches:
        share = shares.of(subscription)
        for position in positions:
            yield subscription, position, "", SINK, 0, due, reason, None, None, share, None


def _dead_rows(burials: Iterable[GivenUp]) -> Iterator[tuple[Any, ...]]:
    for key, tries, when, reason, event in burials:
        yield *key, tries, when, storable(reason), event

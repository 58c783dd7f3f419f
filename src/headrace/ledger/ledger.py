"""What the dispatcher must not forget: how far it got, what waits for another attempt, what it gave up.

The cursor is a cut of the log: every delivery of an event before it was acknowledged, waits here, or lies with the
dead. Changes are collected and committed together, the cursor last, so that a crash repeats and never loses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import bindparam, delete, false, func, insert, or_, select, tuple_

from headrace.eventlog.shares import UNSHARED, Shares
from headrace.events.positions import Cut, position_at
from headrace.ledger import attempts
from headrace.ledger.stages import SINK
from headrace.ledger.tables import CURSOR, DEAD, METADATA, REPLAY_CURSORS, WAITING
from headrace.subscriptions.database import open_database
from headrace.subscriptions.patience import repeatable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Table

    from headrace.ledger.attempts import Attempt


class Key(NamedTuple):
    """One planned delivery. What a replay delivers has its name, so that it never meets what is delivered live."""

    subscription: str
    position: int
    replay: str = ""
    stage: str = SINK


class Wait(NamedTuple):
    """A delivery that is tried again when it is due; `attempts` were made already."""

    key: Key
    attempts: int
    due: float
    reason: str
    event: bytes | None = None
    failure: str | None = None


class Burial(NamedTuple):
    """A delivery that is given up."""

    key: Key
    attempts: int
    time: float
    reason: str
    event: bytes


@dataclass(frozen=True, slots=True)
class Changes:
    """What one commit makes durable."""

    waits: Sequence[Wait]
    burials: Sequence[Burial]
    finished: Sequence[Key]
    cursor: Cut | None
    replay_cursors: Mapping[str, int] = field(default_factory=dict)
    attempts: Sequence[Attempt] = ()


class Ledger:
    """Calls block; any thread may make them. Whoever holds the shares is the only writer, from one thread."""

    def __init__(self, url: str, patience: float = 0.0, shares: Shares = UNSHARED) -> None:
        """Open it. `patience` is how many seconds a call tries to get past a lost connection or a lock."""
        self.patience = patience
        self._engine = open_database(url, METADATA, patience)
        self._shares = shares
        self._is_own = WAITING.c.share.in_(sorted(shares.own))

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    @repeatable
    def cursor(self) -> Cut:
        """Return the cut from which the outbox is read on: before it, every share held here is settled."""
        cursors = self.cursors()
        return reduce(Cut.meet, (cursors.get(share, Cut()) for share in self._shares.own))

    @repeatable
    def cursors(self) -> dict[int, Cut]:
        """Return how far each share is settled, those of other dispatchers as well."""
        with self._engine.connect() as connection:
            return {row.share: Cut.from_json(row.cut) for row in connection.execute(select(CURSOR))}

    @repeatable
    def commit(self, changes: Changes) -> None:
        """Make the changes durable, all or none."""
        with self._engine.begin() as connection:
            gone = [*changes.finished, *(burial.key for burial in changes.burials)]
            _remove(connection, WAITING, [*gone, *(wait.key for wait in changes.waits)])
            _remove(connection, DEAD, [burial.key for burial in changes.burials])
            _add(connection, WAITING, changes.waits, self._shares)
            _add(connection, DEAD, changes.burials, self._shares)
            if changes.cursor is not None:
                self._move_cursors(connection, changes.cursor)
            for replay, number in changes.replay_cursors.items():
                connection.execute(delete(REPLAY_CURSORS).where(REPLAY_CURSORS.c.replay == replay))
                connection.execute(insert(REPLAY_CURSORS).values(replay=replay, number=number))
            attempts.write(connection, changes.attempts)

    def _move_cursors(self, connection: Connection, cut: Cut) -> None:
        """Move the cursors of the shares held here. One that was ahead of the others stays there."""
        is_own = CURSOR.c.share.in_(sorted(self._shares.own))
        rows = connection.execute(select(CURSOR).where(is_own)).all()
        known = {row.share: Cut.from_json(row.cut) for row in rows}
        connection.execute(delete(CURSOR).where(is_own))
        moved = [
            {"share": share, "cut": known.get(share, Cut()).join(cut).to_json()}
            for share in sorted(self._shares.own)
        ]
        connection.execute(insert(CURSOR), moved)

    @repeatable
    def next_due(self) -> float | None:
        """Return when the earliest waiting delivery is due."""
        with self._engine.connect() as connection:
            return connection.execute(select(func.min(WAITING.c.due)).where(self._is_own)).scalar()

    @repeatable
    def subscriptions_due(self, now: float) -> list[str]:
        """List the subscriptions that have waiting deliveries due."""
        with self._engine.connect() as connection:
            query = select(WAITING.c.subscription).where(self._is_own, WAITING.c.due <= now).distinct()
            return list(connection.execute(query).scalars())

    @repeatable
    def due(self, subscription: str, now: float, limit: int, without: Collection[Key] = ()) -> list[Wait]:
        """Return the oldest deliveries of a subscription that are due, except those under way already."""
        query = (
            select(WAITING)
            .where(
                WAITING.c.subscription == subscription,
                WAITING.c.due <= now,
                tuple_(WAITING.c.replay, WAITING.c.position).not_in(
                    [(key.replay, key.position) for key in without]
                ),
            )
            .order_by(WAITING.c.position)
            .limit(limit)
        )
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
        return [
            Wait(
                Key(row.subscription, row.position, row.replay, row.stage), row.attempts, row.due, row.reason
            )
            for row in rows
        ]

    @repeatable
    def needed_before(self, cut: Cut) -> Cut:
        """Return the cut, taken back to the oldest event in each lane that is still needed for another attempt."""
        oldest = dict(cut)
        with self._engine.connect() as connection:
            for lane, position in cut.items():
                within = WAITING.c.position.between(position_at(lane, 0), position - 1)
                query = select(func.min(WAITING.c.position)).where(WAITING.c.replay == "", within)
                waiting = connection.execute(query).scalar()
                oldest[lane] = position if waiting is None else waiting
        return Cut(oldest)

    @repeatable
    def kept_behind(self, cut: Cut) -> set[Key]:
        """Return what waits or is dead and isn't before the cut: a crash came before the cursor had passed it."""
        kept: set[Key] = set()
        with self._engine.connect() as connection:
            for table in (WAITING, DEAD):
                query = select(table.c.subscription, table.c.position).where(
                    table.c.replay == "", ~_is_before(cut, table)
                )
                found = (Key(*row) for row in connection.execute(query))
                kept.update(key for key in found if self._shares.hold(key.subscription))
        return kept

    @repeatable
    def forget(self, subscription: str) -> int:
        """Drop what waits for a subscription that was deleted; return how many that were."""
        with self._engine.begin() as connection:
            return connection.execute(delete(WAITING).where(WAITING.c.subscription == subscription)).rowcount

    # Replays

    @repeatable
    def replay_cursor(self, replay: str) -> int:
        """Return the number of the event from which a replay goes on."""
        with self._engine.connect() as connection:
            query = select(REPLAY_CURSORS.c.number).where(REPLAY_CURSORS.c.replay == replay)
            return int(connection.execute(query).scalar() or 0)

    def replay_waits(self, replay: str) -> set[int]:
        """Return the positions at which a replay's events wait for another attempt."""
        return self._positions(WAITING, replay)

    def replay_dead(self, replay: str) -> set[int]:
        """Return the positions of a replay's events that were given up."""
        return self._positions(DEAD, replay)

    @repeatable
    def forget_replay(self, replay: str) -> int:
        """Drop a replay's cursor and what waits of it; return how many that were. The dead stay."""
        with self._engine.begin() as connection:
            connection.execute(delete(REPLAY_CURSORS).where(REPLAY_CURSORS.c.replay == replay))
            return connection.execute(delete(WAITING).where(WAITING.c.replay == replay)).rowcount

    @repeatable
    def _positions(self, table: Table, replay: str) -> set[int]:
        with self._engine.connect() as connection:
            query = select(table.c.position).where(table.c.replay == replay)
            return set(connection.execute(query).scalars())

    @repeatable
    def count(self) -> tuple[int, int]:
        """Return how many deliveries wait and how many are dead."""
        with self._engine.connect() as connection:
            waiting, dead = (
                connection.execute(select(func.count()).select_from(t)).scalar() for t in (WAITING, DEAD)
            )
        return waiting or 0, dead or 0


def _is_before(cut: Cut, table: Table) -> ColumnElement[bool]:
    column = table.c.position
    return or_(
        false(), *(column.between(position_at(lane, 0), position - 1) for lane, position in cut.items())
    )


def _remove(connection: Connection, table: Table, keys: Sequence[Key]) -> None:
    if keys:
        its_key = [table.c[name] == bindparam(f"its_{name}") for name in Key._fields]
        connection.execute(
            delete(table).where(*its_key),
            [{f"its_{name}": value for name, value in key._asdict().items()} for key in keys],
        )


def _add(
    connection: Connection, table: Table, entries: Sequence[Wait] | Sequence[Burial], shares: Shares
) -> None:
    if entries:
        rows = [
            {**entry._asdict(), **entry.key._asdict(), "share": shares.of(entry.key.subscription)}
            for entry in entries
        ]
        connection.execute(insert(table), [{name: row[name] for name in table.c.keys()} for row in rows])  # noqa: SIM118

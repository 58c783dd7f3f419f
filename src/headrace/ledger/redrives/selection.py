"""Which deliveries a redrive is about, and making them due again.

A dead delivery goes back to those that wait, with the event that was kept for it and its attempts counted anew. One
that waits becomes due. The API counts with the same selection that the dispatcher moves by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import bindparam, delete, func, insert, select, tuple_, update

from headrace.errors import InvalidEvent
from headrace.events.json_format import decode, encode
from headrace.filters import compile_filter
from headrace.ledger.redrives import redrives
from headrace.ledger.redrives.redrive import DEAD_STATE
from headrace.ledger.schedule import HELD
from headrace.ledger.stages import SINK
from headrace.ledger.tables import DEAD, WAITING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, Row, Table

    from headrace.eventlog.outbox_partitions import OutboxPartitions
    from headrace.events import Event
    from headrace.events.recorded import Recorded
    from headrace.filters.filter import Filter
    from headrace.ledger.redrives.redrive import Delivered, Redrive, RedriveRequest

    EventsAt = Callable[[Iterable[int]], Mapping[int, Recorded]]
    """Reads events of the log; what it has no more is left out."""

PAGE = 500
_KEY = ("subscription", "stage", "replay", "position")
_REASON = "it was redriven"


class Selection(NamedTuple):
    """What a request chooses: `is_wanted` says whether a subscription counts, `asked` is when it was asked for."""

    request: RedriveRequest
    is_wanted: Callable[[str], bool]
    events_at: EventsAt
    asked: float

    @property
    def table(self) -> Table:
        """Where it chooses from."""
        return DEAD if self.request.state == DEAD_STATE else WAITING

    def conditions(self) -> Iterator[ColumnElement[bool]]:
        """Yield what a row has to meet, besides the filter.

        What was given up after the redrive was asked for isn't its business, or it would turn in a circle; and what is
        due already goes out without it.
        """
        request, table = self.request, self.table
        if table is DEAD:
            when = DEAD.c.time
            yield when <= self.asked
            yield func.length(DEAD.c.event) > 0  # an event that could not be read can't be sent
        else:
            when = WAITING.c.due
            yield when > self.asked
            yield when < HELD  # somebody is at it
        if request.since is not None:
            yield when >= request.since / 1000
        if request.until is not None:
            yield when < request.until / 1000


def count(connection: Connection, selection: Selection) -> int:
    """Count what a redrive would move."""
    found = 0
    for subscription in subscriptions(connection, selection):
        if selection.request.filter is None:
            its = selection.table.c.subscription == subscription
            query = select(func.count()).where(its, *selection.conditions())
            found += connection.execute(query).scalar() or 0
        else:
            found += sum(len(chosen) for chosen, _ in pages(connection, selection, subscription, None))
    return found


def subscriptions(connection: Connection, selection: Selection, start: str | None = None) -> Iterator[str]:
    """Yield the subscriptions that have anything to move, in order, with one look each; from `start` on, if given."""
    only = selection.request.subscription
    if only is not None:
        if selection.is_wanted(only) and (start is None or only >= start):
            yield only
        return
    column = selection.table.c.subscription
    at_least: ColumnElement[bool] | None = None if start is None else column >= start
    while True:
        query = select(func.min(column))
        found = connection.execute(query if at_least is None else query.where(at_least)).scalar()
        if found is None:
            return
        if selection.is_wanted(found):
            yield found
        at_least = column > found


def pages(
    connection: Connection,
    selection: Selection,
    subscription: str,
    after: tuple[Any, ...] | None,
    limit: int = PAGE,
) -> Iterator[tuple[Sequence[Row[Any]], tuple[Any, ...]]]:
    """Yield rows of a subscription that are chosen, page by page, each with the key of the last one looked at."""
    table = selection.table
    key = tuple_(*(table.c[name] for name in _KEY))
    wanted = None if selection.request.filter is None else compile_filter(selection.request.filter)
    while True:
        query = select(table).where(table.c.subscription == subscription, *selection.conditions())
        if after is not None and after[0] == subscription:
            query = query.where(key > after)
        rows = connection.execute(query.order_by(*key.clauses).limit(limit)).all()
        if not rows:
            return
        after = tuple(getattr(rows[-1], name) for name in _KEY)
        yield (rows if wanted is None else _matching(rows, wanted, selection.events_at)), after


def _matching(rows: Sequence[Row[Any]], wanted: Filter, events_at: EventsAt) -> list[Row[Any]]:
    """Return the rows whose events match. What waits for a replay has its event there, and is left out."""
    in_log = events_at([row.position for row in rows if row.event is None and not row.replay])
    chosen = []
    for row in rows:
        event = _event_of(row) if row.event is not None else None
        if row.event is None and not row.replay and row.position in in_log:
            event = in_log[row.position].event
        if event is not None and wanted.matches(event):
            chosen.append(row)
    return chosen


def _event_of(row: Row[Any]) -> Event | None:
    try:
        return decode(bytes(row.event))
    except InvalidEvent:
        return None


def move(
    connection: Connection,
    selection: Selection,
    redrive: Redrive,
    rows: Sequence[Row[Any]],
    shares: OutboxPartitions,
) -> bool:
    """Make rows due again, at the redrive's rate, in the connection's transaction; False where it was cancelled."""
    slot = redrives.advance(connection, redrive, len(rows))
    if slot is None:
        return False
    step = 1 / redrive.request.rate if redrive.request.rate else 0.0
    dues = [slot + number * step for number in range(len(rows))]
    if selection.table is DEAD:
        _revive(connection, rows, dues, shares)
    else:
        _make_due(connection, rows, dues)
    return True


def move_one(
    connection: Connection, redrive: Redrive, only: Delivered, events_at: EventsAt, shares: OutboxPartitions
) -> None:
    """Make one delivery again: a dead one is taken up, one that waits becomes due, any other is made once more."""
    slot = redrives.advance(connection, redrive, 1)
    if slot is None:
        return None
    for table in (DEAD, WAITING):
        rows = connection.execute(
            select(table).where(
                table.c.subscription == only.subscription,
                table.c.replay == only.replay,
                table.c.position == only.position,
            )
        ).all()
        if table is DEAD:
            rows = [row for row in rows if row.event]
        if rows and table is DEAD:
            _revive(connection, rows, [slot] * len(rows), shares)
        elif rows:
            _make_due(connection, rows, [slot] * len(rows))
        if rows:
            return redrives.finish(connection, redrive.id)
    recorded = events_at([only.position]).get(only.position)
    if recorded is None:
        problem = (
            f"the event at position {only.position} is no longer in the log; a replay reads the archive too"
        )
        return redrives.fail(connection, redrive.id, problem)
    connection.execute(insert(WAITING).values(_again(redrive, only, recorded, slot, shares)))
    return redrives.finish(connection, redrive.id)


def _again(
    redrive: Redrive, only: Delivered, recorded: Recorded, due: float, shares: OutboxPartitions
) -> dict[str, Any]:
    """Return the row of a delivery that was made before: named after its redrive, it meets no other."""
    return {
        "subscription": only.subscription,
        "stage": SINK,
        "replay": redrive.id,
        "position": only.position,
        "attempts": 0,
        "due": due,
        "reason": _REASON,
        "event": encode(recorded.event),
        "share": shares.of(only.subscription),
    }


def _revive(
    connection: Connection, rows: Sequence[Row[Any]], dues: Sequence[float], shares: OutboxPartitions
) -> None:
    if not rows:
        return
    keys = [{f"its_{name}": getattr(row, name) for name in _KEY} for row in rows]
    for table in (DEAD, WAITING):
        connection.execute(delete(table).where(*_its(table)), keys)
    again = [
        {name: getattr(row, name) for name in _KEY}
        | {"attempts": 0, "due": due, "reason": f"{_REASON} after: {row.reason}", "event": row.event}
        | {"share": shares.of(row.subscription)}
        for row, due in zip(rows, dues, strict=True)
    ]
    connection.execute(insert(WAITING), again)


def _make_due(connection: Connection, rows: Sequence[Row[Any]], dues: Sequence[float]) -> None:
    if rows:
        connection.execute(
            update(WAITING).where(*_its(WAITING)).values(due=bindparam("new_due")),
            [
                {f"its_{name}": getattr(row, name) for name in _KEY} | {"new_due": due}
                for row, due in zip(rows, dues, strict=True)
            ],
        )


def _its(table: Table) -> list[ColumnElement[bool]]:
    return [table.c[name] == bindparam(f"its_{name}") for name in _KEY]

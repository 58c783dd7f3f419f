"""How deliveries fare, by subscription: the dispatcher writes it down now and then, and the API shows it."""

from __future__ import annotations

import time
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import (
    Float,
    Integer,
    Table,
    Text,
    bindparam,
    case,
    func,
    insert,
    literal,
    select,
    update,
)

from headrace.database.conflicts import insert_into
from headrace.database.id_lists import asked, asking
from headrace.events.positions import LogPosition, partition_of, position_at
from headrace.ledger.pull import mailboxes
from headrace.ledger.stages import SINK
from headrace.ledger.tables import CURSOR, DEAD, DELIVERY_STATUS, MAILBOXES, WAITING
from headrace.ledger.texts import storable
from headrace.ledger.times import shown_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection, Select

    from headrace.ledger.pull.mailboxes import Fill

_MAX_REASON = 500
MOST_COUNTED = 10_000
"""Nobody needs to know more exactly how many wait, and millions would take seconds to count."""

_AT_A_TIME = 1000  # a statement takes so many parameters, and not many more

_CURSORS = select(CURSOR.c.cut)

CLOSED, OPEN, HALF_OPEN = "closed", "open", "half-open"


class DeliveryReport(NamedTuple):
    """What a dispatcher says of one subscription's sink: the last success, the last error, and its breaker.

    A time that is None leaves what was known. `until` is when an open breaker lets the next delivery through.
    """

    subscription: str
    succeeded: float | None = None
    failed: float | None = None
    reason: str = ""
    status: int | None = None
    breaker: str = CLOSED
    until: float | None = None


class DeliveryStatus(NamedTuple):
    """What is known of one subscription: the last report, if any, and how many deliveries wait or are dead now.

    They are counted as far as `MOST_COUNTED`; one more than that stands for all that is more. `oldest` has, for each
    partition of the log, the position of the first that waits for its sink or to be pulled. `mailbox` is there where
    some of them wait to be pulled, or did not in time.
    """

    report: DeliveryReport | None = None
    waiting: int = 0
    dead: int = 0
    oldest: tuple[int, ...] = ()
    mailbox: Fill | None = None

    def document(self) -> dict[str, Any]:
        """Return it as the API shows it; what there isn't is left out."""
        shown: dict[str, Any] = {}
        for name, count in (("waiting", self.waiting), ("dead", self.dead)):
            shown[name] = min(count, MOST_COUNTED)
            if count > MOST_COUNTED:
                shown[f"{name}IsMore"] = True
        if self.mailbox is not None:
            shown["pull"] = _shown_fill(self.mailbox)
        if self.report is not None:
            shown |= _shown(self.report)
        return shown


def write(connection: Connection, reports: Sequence[DeliveryReport]) -> None:
    """Write reports down, in the transaction of the connection; each takes the place of the one before."""
    for start in range(0, len(reports), _AT_A_TIME):
        _write(connection, reports[start : start + _AT_A_TIME])


def _write(connection: Connection, reports: Sequence[DeliveryReport]) -> None:
    ids = [report.subscription for report in reports]
    known = set(
        connection.execute(
            select(DELIVERY_STATUS.c.subscription).where(DELIVERY_STATUS.c.subscription.in_(ids))
        ).scalars()
    )
    new = [_row(report) for report in reports if report.subscription not in known]
    if new:
        connection.execute(insert(DELIVERY_STATUS), new)
    changed = [
        {f"new_{name}": value for name, value in _row(report).items()}
        for report in reports
        if report.subscription in known
    ]
    if changed:
        connection.execute(_replacing(), changed)


def note_success(connection: Connection, subscription: str, when: float) -> None:
    """Write down when a subscription's consumers acknowledged something; they may do so at once."""
    connection.execute(
        insert_into(connection, DELIVERY_STATUS)
        .values(_row(DeliveryReport(subscription, succeeded=when)))
        .on_conflict_do_update(index_elements=["subscription"], set_={"succeeded": when})
    )


def _replacing() -> Any:
    its, failed = DELIVERY_STATUS.c, bindparam("new_failed", type_=Float)
    keep = failed.is_(None)
    return (
        update(DELIVERY_STATUS)
        .where(its.subscription == bindparam("new_subscription"))
        .values(
            succeeded=func.coalesce(bindparam("new_succeeded", type_=Float), its.succeeded),
            failed=func.coalesce(failed, its.failed),
            reason=case((keep, its.reason), else_=bindparam("new_reason", type_=Text)),
            status=case((keep, its.status), else_=bindparam("new_status", type_=Integer)),
            breaker=bindparam("new_breaker"),
            until=bindparam("new_until"),
        )
    )


def read(connection: Connection, among: Sequence[str] | None = None) -> dict[str, DeliveryStatus]:
    """Return what is known, by subscription: of all of which anything is known, or of some."""
    reports, waiting, dead = _of_all(connection) if among is None else _of_some(connection, among)
    fills = mailboxes.fills(connection, time.time(), among)
    for each, fill in fills.items():
        if fill.waiting:
            waiting[each] = waiting.get(each, 0) + fill.waiting
    oldest = _oldest(connection, waiting)
    return {
        each: DeliveryStatus(
            reports.get(each), waiting.get(each, 0), dead.get(each, 0), oldest.get(each, ()), fills.get(each)
        )
        for each in reports.keys() | waiting.keys() | dead.keys() | fills.keys()
    }


def forget(connection: Connection, subscriptions: Sequence[str]) -> None:
    """Forget what was said of subscriptions that are gone."""
    gone = DELIVERY_STATUS.delete().where(DELIVERY_STATUS.c.subscription == bindparam("gone"))
    if subscriptions:
        connection.execute(gone, [{"gone": each} for each in subscriptions])
        mailboxes.forget_losses(connection, subscriptions)


_Told = tuple[dict[str, DeliveryReport], dict[str, int], dict[str, int]]
"""Reports, how much waits, and how much is dead, each by subscription."""


def _of_all(connection: Connection) -> _Told:
    """Count by subscription. Its cost follows the number of subscriptions, however much waits for one of them."""
    reports = {row.subscription: DeliveryReport(*row) for row in connection.execute(select(DELIVERY_STATUS))}
    waiting, dead = (
        {row[0]: row[1] for row in connection.execute(_all_counts(table))} for table in (WAITING, DEAD)
    )
    return reports, waiting, dead


def _of_some(connection: Connection, among: Sequence[str]) -> _Told:
    """Count the same in one statement for all that are asked for."""
    bounds = {"most": MOST_COUNTED + 1}
    rows = connection.execute(_some(connection.dialect.name), asking(among) | bounds).all()
    reports = {row[0]: DeliveryReport(*row[3:]) for row in rows if row[3] is not None}
    waiting, dead = ({row[0]: row[place] for row in rows if row[place]} for place in (1, 2))
    return reports, waiting, dead


@cache
def _some(dialect: str) -> Select[Any]:
    table_asked, its, _ = asked(dialect)
    counts = []
    for table in (WAITING, DEAD):
        rows = select(literal(1).label("one")).select_from(table).where(table.c.subscription == its)
        some = rows.limit(bindparam("most", type_=Integer)).correlate(table_asked).subquery()
        counts.append(select(func.count()).select_from(some).scalar_subquery())
    joined = table_asked.outerjoin(DELIVERY_STATUS, DELIVERY_STATUS.c.subscription == its)
    return select(its, *counts, *DELIVERY_STATUS.c).select_from(joined)


def _all_counts(table: Table) -> Select[str, int]:
    """Hop from one subscription to the next, and count as much of each as is counted."""
    following, own = table.alias("following"), table.alias("own")
    found = select(func.min(table.c.subscription).label("subscription")).cte("found", recursive=True)
    next_one = select(func.min(following.c.subscription)).where(
        following.c.subscription > found.c.subscription
    )
    found = found.union_all(select(next_one.scalar_subquery()).where(found.c.subscription.is_not(None)))
    some = select(literal(1).label("one")).select_from(own).where(own.c.subscription == found.c.subscription)
    counted = some.limit(MOST_COUNTED + 1).correlate(found).subquery()
    count = select(func.count()).select_from(counted).scalar_subquery()
    return select(found.c.subscription, count).where(found.c.subscription.is_not(None))


def _oldest(connection: Connection, among: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Hop from one partition of the log to the next, with all at once: a look for each, however much waits there."""
    found: dict[str, tuple[int, ...]] = {}
    for first in _firsts(connection.dialect.name):
        starts = dict.fromkeys(among, 0)
        while starts:
            rows = connection.execute(first, asking(starts))
            oldest = {each: position for each, position in rows if position is not None}
            for each, position in oldest.items():
                found[each] = (*found.get(each, ()), position)
            starts = {each: position_at(partition_of(position) + 1, 0) for each, position in oldest.items()}
    return found


@cache
def _firsts(dialect: str) -> tuple[Select[Any], ...]:
    """Make what looks for the first position of each that is asked for, from a number on: pushed, and pulled."""
    _, each, start = asked(dialect)
    return tuple(
        select(
            each,
            select(func.min(its.position))
            .where(its.subscription == each, its.replay == "", its.position >= start, *more)
            .scalar_subquery(),
        )
        for its, more in ((WAITING.c, [WAITING.c.stage == SINK]), (MAILBOXES.c, []))
    )


def settled(connection: Connection) -> LogPosition:
    """Return the cut before which every delivery of every dispatcher was made, waits, or lies with the dead."""
    cuts = [LogPosition.from_json(text) for text in connection.execute(_CURSORS).scalars()]
    return reduce(LogPosition.meet, cuts) if cuts else LogPosition()


def _row(report: DeliveryReport) -> dict[str, Any]:
    return report._asdict() | {"reason": storable(report.reason)[:_MAX_REASON]}


def _shown(report: DeliveryReport) -> dict[str, Any]:
    shown: dict[str, Any] = {"breaker": {"state": report.breaker}}
    if report.until is not None:
        shown["breaker"]["until"] = shown_time(report.until)
    if report.succeeded is not None:
        shown["lastSuccess"] = shown_time(report.succeeded)
    if report.failed is not None:
        error: dict[str, Any] = {"time": shown_time(report.failed), "reason": report.reason}
        shown["lastError"] = error if report.status is None else error | {"status": report.status}
    return shown


def _shown_fill(fill: Fill) -> dict[str, Any]:
    shown: dict[str, Any] = {"waiting": fill.waiting, "held": fill.held, "expired": fill.expired}
    if fill.oldest is not None:
        shown["oldest"] = shown_time(fill.oldest)
    if fill.lost is not None:
        shown["lastExpired"] = shown_time(fill.lost)
    return shown

"""How deliveries fare, by subscription: the dispatcher writes it down now and then, and the API shows it."""

from __future__ import annotations

from functools import reduce
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
    literal_column,
    select,
    update,
)

from headrace.events.positions import OFFSET_BITS, Cut
from headrace.ledger.stages import SINK
from headrace.ledger.tables import CURSOR, DEAD, DELIVERY_STATUS, WAITING
from headrace.ledger.texts import storable
from headrace.ledger.times import shown_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

_MAX_REASON = 500
_AT_A_TIME = 1000  # a statement takes so many parameters, and not many more

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

    `oldest` has, for each lane of the log, the position of the first that waits for its sink.
    """

    report: DeliveryReport | None = None
    waiting: int = 0
    dead: int = 0
    oldest: tuple[int, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return it as the API shows it; what there isn't is left out."""
        shown: dict[str, Any] = {"waiting": self.waiting, "dead": self.dead}
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
    query = select(DELIVERY_STATUS)
    if among is not None:
        query = query.where(DELIVERY_STATUS.c.subscription.in_(among))
    reports = {row.subscription: DeliveryReport(*row) for row in connection.execute(query)}
    waiting, dead = (_counts(connection, table, among) for table in (WAITING, DEAD))
    oldest = _oldest(connection, among)
    return {
        each: DeliveryStatus(reports.get(each), waiting.get(each, 0), dead.get(each, 0), oldest.get(each, ()))
        for each in reports.keys() | waiting.keys() | dead.keys()
    }


def forget(connection: Connection, subscriptions: Sequence[str]) -> None:
    """Forget what was said of subscriptions that are gone."""
    gone = DELIVERY_STATUS.delete().where(DELIVERY_STATUS.c.subscription == bindparam("gone"))
    if subscriptions:
        connection.execute(gone, [{"gone": each} for each in subscriptions])


def _counts(connection: Connection, table: Table, among: Sequence[str] | None) -> dict[str, int]:
    query = select(table.c.subscription, func.count()).group_by(table.c.subscription)
    if among is not None:
        query = query.where(table.c.subscription.in_(among))
    return {row[0]: row[1] for row in connection.execute(query)}


def _oldest(connection: Connection, among: Sequence[str] | None) -> dict[str, tuple[int, ...]]:
    its = WAITING.c
    lane = its.position.op(">>")(literal_column(str(OFFSET_BITS)))
    query = select(its.subscription, func.min(its.position).label("oldest")).where(
        its.replay == "", its.stage == SINK
    )
    if among is not None:
        query = query.where(its.subscription.in_(among))
    found: dict[str, tuple[int, ...]] = {}
    for row in connection.execute(query.group_by(its.subscription, lane)):
        found[row.subscription] = (*found.get(row.subscription, ()), row.oldest)
    return found


def settled(connection: Connection) -> Cut:
    """Return the cut before which every delivery of every dispatcher was made, waits, or lies with the dead."""
    cuts = [Cut.from_json(text) for text in connection.execute(select(CURSOR.c.cut)).scalars()]
    return reduce(Cut.meet, cuts) if cuts else Cut()


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

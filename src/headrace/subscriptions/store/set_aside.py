"""What could not be routed, and why. It is written down before routing goes on without it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, select, update

from headrace.database.id_lists import asked, asking
from headrace.subscriptions.status import timestamp
from headrace.subscriptions.tables import SET_ASIDE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import Connection, Select

_KEPT = 10_000
_MAX_REASON = 1000
NO_SUBSCRIPTION = ""


class Kind(StrEnum):
    """What was set aside."""

    EVENT = "event"
    """An event that could not be matched: nobody gets it."""
    FILTER = "filter"
    """A subscription whose filters can't be used here: it gets no event."""
    DAMAGE = "damage"
    """Positions of the log that can't be read any more."""


@dataclass(frozen=True, slots=True)
class SetAside:
    """Positions [position, until), none for a subscription, and what is known of them."""

    kind: Kind
    position: int
    until: int
    reason: str
    namespace: str | None = None
    channel: str | None = None
    subscription: str | None = None
    time: str = field(default_factory=timestamp)

    @property
    def count(self) -> int:
        """How many events, or subscriptions, these are."""
        return 1 if self.kind is Kind.FILTER else self.until - self.position

    def document(self) -> dict[str, Any]:
        """Return it as the API shows it."""
        left_out = {"position", "until"} if self.kind is Kind.FILTER else set()
        return {
            name: value for name, value in asdict(self).items() if value is not None and name not in left_out
        }


def of_subscription(subscription: str, namespace: str, channel: str, reason: str) -> SetAside:
    """Set a subscription aside."""
    return SetAside(Kind.FILTER, 0, 0, reason, namespace, channel, subscription)


def join(records: Iterable[SetAside]) -> list[SetAside]:
    """Make one of neighbours that were set aside for the same reason, so that a flood of them stays small."""
    joined: list[SetAside] = []
    for record in sorted(records, key=lambda each: (each.kind, each.position)):
        last = joined[-1] if joined else None
        if last is not None and last.until == record.position and _alike(last, record):
            joined[-1] = replace(last, until=record.until)
        else:
            joined.append(record)
    return joined


def _alike(one: SetAside, other: SetAside) -> bool:
    return one.kind is not Kind.FILTER and _sort(one) == _sort(other)


def _sort(record: SetAside) -> tuple[object, ...]:
    return record.kind, record.reason, record.namespace, record.channel


def write(connection: Connection, records: Iterable[SetAside]) -> None:
    """Write them down; a batch that is repeated says the same again, which changes nothing."""
    for record in records:
        row = asdict(record) | {
            "subscription": record.subscription or NO_SUBSCRIPTION,
            "reason": record.reason[:_MAX_REASON],
        }
        its_row = [SET_ASIDE.c[name] == row[name] for name in ("kind", "position", "subscription")]
        further = {"until": row["until"]}
        known = connection.execute(
            update(SET_ASIDE).where(*its_row, SET_ASIDE.c.until < row["until"]).values(further)
        )
        if not known.rowcount and not connection.execute(select(SET_ASIDE.c.number).where(*its_row)).first():
            connection.execute(insert(SET_ASIDE).values(row))
    newest = connection.execute(select(func.max(SET_ASIDE.c.number))).scalar()
    if newest is not None:
        connection.execute(delete(SET_ASIDE).where(SET_ASIDE.c.number <= newest - _KEPT))


def newest(connection: Connection, limit: int, namespaces: Collection[str] | None = None) -> list[SetAside]:
    """Return the last ones, of some namespaces or of all, the newest first."""
    query = select(SET_ASIDE).order_by(SET_ASIDE.c.number.desc()).limit(limit)
    if namespaces is not None:
        query = query.where(SET_ASIDE.c.namespace.in_(sorted(namespaces)))
    rows = connection.execute(query)
    return [
        SetAside(
            Kind(row.kind), row.position, row.until, row.reason, row.namespace, row.channel,
            row.subscription or None, row.time,
        )
        for row in rows
    ]  # fmt: skip


def filters(connection: Connection, among: Sequence[str]) -> dict[str, str]:
    """Return why subscriptions among these get no event, by their ids."""
    rows = connection.execute(_filters(connection.dialect.name), asking(among))
    return {row.subscription: row.reason for row in rows}


@cache
def _filters(dialect: str) -> Select[Any]:
    return select(SET_ASIDE.c.subscription, SET_ASIDE.c.reason).where(
        SET_ASIDE.c.kind == Kind.FILTER,
        SET_ASIDE.c.position == 0,  # which all of them have: so the database finds them by its index
        SET_ASIDE.c.subscription.in_(select(asked(dialect).id)),
    )


def forget_filters(connection: Connection) -> None:
    """Forget what was said of filters: a new start looks at all of them again."""
    connection.execute(delete(SET_ASIDE).where(SET_ASIDE.c.kind == Kind.FILTER))

"""Who waits, and until when, found by hopping from one subscription to the next along an index.

A plain `SELECT DISTINCT` would look at every waiting delivery: with millions of them, for seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import func, select

from headrace.ledger.stages import STAGES
from headrace.ledger.tables import WAITING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import ColumnElement, Connection, FromClause, Select

HELD = 253_402_300_799.0
"""When something is due that a dispatcher has in memory: at the end of the year 9999, so that nobody looks for it.

It is given another due time by that dispatcher, or by the next one that starts.
"""


class Entry(NamedTuple):
    """The earliest of what waits for a subscription at a stage is due then."""

    subscription: str
    stage: str
    due: float


def earliest(connection: Connection, shares: Iterable[int]) -> list[Entry]:
    """Return one entry for each subscription and stage of these shares that has anything waiting."""
    return [
        Entry(row.subscription, stage, row.due)
        for share in shares
        for stage in STAGES
        for row in connection.execute(_hops(share, stage))
    ]


def _hops(share: int, stage: str) -> Select[tuple[str, float]]:
    def its(table: FromClause) -> tuple[ColumnElement[bool], ...]:
        return table.c.share == share, table.c.stage == stage

    following, dues = WAITING.alias("following"), WAITING.alias("dues")
    first = select(func.min(WAITING.c.subscription).label("subscription")).where(*its(WAITING))
    found = first.cte("found", recursive=True)
    following_one = (
        select(func.min(following.c.subscription))
        .where(*its(following), following.c.subscription > found.c.subscription)
        .scalar_subquery()
    )
    found = found.union_all(select(following_one).where(found.c.subscription.is_not(None)))
    due = (
        select(func.min(dues.c.due)).where(*its(dues), dues.c.subscription == found.c.subscription)
    ).scalar_subquery()
    return select(found.c.subscription, due.label("due")).where(found.c.subscription.is_not(None))

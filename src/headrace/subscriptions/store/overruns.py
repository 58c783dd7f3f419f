"""Filters that cost more than they may, by subscription."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import delete, insert, literal, select, update

from headrace.database.id_lists import asked, asking
from headrace.subscriptions.status import FilterStatus
from headrace.subscriptions.tables import OVERRUNS, SUBSCRIPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Row, Select

_MAX_REASON = 500


def add(connection: Connection, overruns: Mapping[str, FilterStatus]) -> None:
    """Add to what is known; who is not there any more is left out."""
    for subscription_id in sorted(overruns):  # always in one order, so that two reports can't lock each other
        _add_one(connection, subscription_id, overruns[subscription_id])


def _add_one(connection: Connection, subscription_id: str, status: FilterStatus) -> None:
    last = {
        "reason": status.reason[:_MAX_REASON],
        "position": status.position,
        "time": status.time,
        "event": msgspec.json.encode(status.event).decode() if status.event else None,
    }
    known = connection.execute(
        update(OVERRUNS)
        .where(OVERRUNS.c.subscription == subscription_id)
        .values(times=OVERRUNS.c.times + status.overruns, **last)
    )
    if known.rowcount:
        return
    values = {"times": status.overruns, **last}
    columns = [literal(value, OVERRUNS.c[name].type) for name, value in values.items()]
    row = select(SUBSCRIPTIONS.c.id, *columns).where(SUBSCRIPTIONS.c.id == subscription_id)
    connection.execute(insert(OVERRUNS).from_select(["subscription", *values], row))


def read(connection: Connection, among: Sequence[str] | None) -> dict[str, FilterStatus]:
    """Return what was reported: of all, or of some."""
    if among is None:
        rows = connection.execute(select(OVERRUNS)).all()
    else:
        rows = connection.execute(_some(connection.dialect.name), asking(among)).all()
    return {row.subscription: _from_row(row) for row in rows}


@cache
def _some(dialect: str) -> Select[Any]:
    return select(OVERRUNS).where(OVERRUNS.c.subscription.in_(select(asked(dialect).id)))


def forget(connection: Connection, subscription_id: str) -> None:
    """Forget what was said of a filter that is gone."""
    connection.execute(delete(OVERRUNS).where(OVERRUNS.c.subscription == subscription_id))


def _from_row(row: Row[Any]) -> FilterStatus:
    event = {} if row.event is None else msgspec.json.decode(row.event, type=dict[str, str])
    return FilterStatus(row.times, row.reason, row.position, row.time, event)

"""Quotas are looked at in the transaction that would add to what a namespace has.

Every change of the store holds the row of the revision until its end, so of two that would pass a quota together the
second one sees the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from headrace.errors import QuotaExceeded
from headrace.filters.bounds.costs import worst_cost
from headrace.subscriptions.quotas.quotas import Overrides
from headrace.subscriptions.tables import CHANNELS, QUOTAS, SUBSCRIPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection, Row

    from headrace.filters.filter import Filter
    from headrace.subscriptions.quotas.quotas import Quotas


def in_force(connection: Connection, namespace: str, defaults: Quotas) -> Quotas:
    """Return what holds for a namespace."""
    row = connection.execute(select(QUOTAS).where(QUOTAS.c.namespace == namespace)).first()
    return defaults if row is None else overrides_of(row).over(defaults)


def overrides_of(row: Row[Any]) -> Overrides:
    """Read a row."""
    return Overrides(row.subscriptions, row.channels, row.events_per_second, row.filter_cost)


def check_channels(connection: Connection, namespace: str, defaults: Quotas) -> None:
    """Refuse another channel where a namespace has enough of them."""
    limit = in_force(connection, namespace, defaults).channels
    if limit:
        query = select(func.count()).where(CHANNELS.c.namespace == namespace)
        wanted = 1 + (connection.execute(query).scalar() or 0)
        if wanted > limit:
            raise QuotaExceeded(namespace, "channels", limit, wanted, "delete channels that nobody needs")


def check_subscriptions(
    connection: Connection, namespace: str, filters: Sequence[Callable[[], Filter]], defaults: Quotas
) -> None:
    """Refuse subscriptions with these filters, one each, where they are too many or one of them costs too much."""
    quotas = in_force(connection, namespace, defaults)
    if quotas.subscriptions:
        query = select(func.count()).where(SUBSCRIPTIONS.c.namespace == namespace, ~SUBSCRIPTIONS.c.deleting)
        wanted = len(filters) + (connection.execute(query).scalar() or 0)
        if wanted > quotas.subscriptions:
            remedy = "delete subscriptions that nobody needs"
            raise QuotaExceeded(namespace, "subscriptions", quotas.subscriptions, wanted, remedy)
    for each in filters if quotas.filter_cost else ():
        check_cost(namespace, each, quotas)


def check_cost(namespace: str, filter_of: Callable[[], Filter], quotas: Quotas) -> None:
    """Refuse filters that cost more on an event than the namespace may spend."""
    cost = worst_cost(filter_of().expression) if quotas.filter_cost else 0
    if cost > quotas.filter_cost:
        remedy = "use fewer macros, searches and patterns in the filters"
        raise QuotaExceeded(namespace, "filterCost", quotas.filter_cost, cost, remedy)

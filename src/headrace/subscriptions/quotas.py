"""How much a namespace may have: looked at in the transaction that would add to it.

Every change of the store holds the row of the revision until its end, so of two that would pass a quota together the
second one sees the first.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta
from sqlalchemy import func, select

from headrace.errors import QuotaExceeded
from headrace.filters import compile_filter
from headrace.filters.costs import worst_cost
from headrace.subscriptions.tables import CHANNELS, QUOTAS, SUBSCRIPTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row

_Limit = Annotated[int, Meta(ge=0, le=2**53)]
_Rate = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class Quotas:
    """What holds for a namespace; 0 is no limit. `filter_cost` is for one subscription, in steps on one event."""

    subscriptions: _Limit = 0
    channels: _Limit = 0
    events_per_second: _Rate = 0.0
    filter_cost: _Limit = 0

    def document(self) -> dict[str, Any]:
        """Return them as the API shows them."""
        return {_API_NAMES[name]: value for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Overrides:
    """What a namespace has of its own; None where the configuration's default holds."""

    subscriptions: int | None = None
    channels: int | None = None
    events_per_second: float | None = None
    filter_cost: int | None = None

    def over(self, defaults: Quotas) -> Quotas:
        """Return what holds."""
        return replace(defaults, **{name: value for name, value in asdict(self).items() if value is not None})

    def document(self) -> dict[str, Any]:
        """Return those that are set."""
        return {_API_NAMES[name]: value for name, value in asdict(self).items() if value is not None}


UNLIMITED = Quotas()
_API_NAMES = {
    "subscriptions": "subscriptions",
    "channels": "channels",
    "events_per_second": "eventsPerSecond",
    "filter_cost": "filterCost",
}
MEMBERS = {shown: name for name, shown in _API_NAMES.items()}
"""Names of the API, and those of the settings."""


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
    connection: Connection, namespace: str, filters: Sequence[Any], defaults: Quotas
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


def check_cost(namespace: str, filters: Any, quotas: Quotas) -> None:
    """Refuse filters that cost more on an event than the namespace may spend."""
    cost = worst_cost(compile_filter(list(filters)).expression) if quotas.filter_cost else 0
    if cost > quotas.filter_cost:
        remedy = "use fewer macros, searches and patterns in the filters"
        raise QuotaExceeded(namespace, "filterCost", quotas.filter_cost, cost, remedy)

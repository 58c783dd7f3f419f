"""Asking for subscriptions page by page, in the order of their creation: the database finds them by its indexes.

A page costs what it shows, however many there are. Who asks on from the last one of a page sees each subscription
that was there all the time exactly once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, tuple_

from headrace.subscriptions.store.rows import digest
from headrace.subscriptions.tables import SUBSCRIPTIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Row

    from headrace.subscriptions.channels.name import ChannelName
    from headrace.subscriptions.subscription import Subscription

Place = tuple[int, str]
"""Where a subscription stands in the order of creation: the revision of that time, and the id."""


@dataclass(frozen=True, slots=True)
class SubscriptionQuery:
    """Which ones are asked for: everything that is given must hold.

    `among` are the namespaces that whoever asks may see. `after` is the place of the last one seen.
    """

    among: Collection[str] | None = None
    namespace: str | None = None
    channel: ChannelName | None = None
    sink: str | None = None
    protocol: str | None = None
    state: str | None = None
    after: Place | None = None
    limit: int = 1000


@dataclass(frozen=True, slots=True)
class Page:
    """Some of those that were asked for; `next` is where to ask on, None behind the last."""

    subscriptions: Sequence[Subscription]
    next: Place | None


def find(connection: Connection, query: SubscriptionQuery) -> tuple[Sequence[Row[Any]], Place | None]:
    """Return the rows of a page, and where to ask on."""
    its = SUBSCRIPTIONS.c
    found = (
        select(SUBSCRIPTIONS)
        .where(~its.deleting, *_conditions(query))
        .order_by(its.first_revision, its.id)
        .limit(query.limit + 1)  # one more tells whether there are more
    )
    rows = connection.execute(found).all()
    page = rows[: query.limit]
    return page, (page[-1].first_revision, page[-1].id) if len(rows) > len(page) else None


def _conditions(query: SubscriptionQuery) -> Iterator[ColumnElement[bool]]:
    its = SUBSCRIPTIONS.c
    if query.among is not None:
        yield its.namespace.in_(query.among)
    if query.namespace is not None:
        yield its.namespace == query.namespace
    if query.channel is not None:
        yield its.namespace == query.channel.namespace
        yield its.channel == query.channel.name
    if query.sink is not None:
        yield its.sink_digest == digest(query.sink)
    if query.protocol is not None:
        yield its.protocol == query.protocol
    if query.state is not None:
        yield its.state == query.state
    if query.after is not None:
        yield tuple_(its.first_revision, its.id) > query.after

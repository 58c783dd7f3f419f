"""Many subscriptions at a time, in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select

from headrace.errors import Conflict, NotFound
from headrace.subscriptions.channels import rows as channel_rows
from headrace.subscriptions.quotas.checks import check_subscriptions
from headrace.subscriptions.tables import SUBSCRIPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sqlalchemy import Connection, Row

    from headrace.filters.filter import Filter
    from headrace.subscriptions.imports.batch import Entry, Lot
    from headrace.subscriptions.quotas.quotas import Quotas
    from headrace.subscriptions.subscription import Subscription


def add(
    connection: Connection,
    lot: Lot,
    revision: int,
    quotas: Quotas,
    also: Callable[[Connection, Subscription], object],
) -> int:
    """Add whoever isn't there yet, without a beginning; return how many."""
    channels = set(channel_rows.names(connection))
    added = 0
    for page in lot.pages():
        known = _known(connection, page)
        new = [entry for entry in page if not _is_there(entry, known)]
        for entry in new:
            if entry.channel not in channels:  # it was there when the line was read
                raise NotFound("channel", str(entry.channel))
        _check_quotas(connection, new, quotas)
        if new:
            connection.execute(insert(SUBSCRIPTIONS), [_row(entry, revision) for entry in new])
        for entry in new:
            if not entry.is_plain:
                also(connection, entry.proposal())
        added += len(new)
    return added


def _check_quotas(connection: Connection, entries: Sequence[Entry], quotas: Quotas) -> None:
    filters: dict[str, list[Callable[[], Filter]]] = {}
    for entry in entries:
        filters.setdefault(entry.channel.namespace, []).append(entry.compiled_filter)
    for namespace, wanted in filters.items():
        check_subscriptions(connection, namespace, wanted, quotas)


def _known(connection: Connection, entries: Sequence[Entry]) -> dict[str | None, Row[Any]]:
    """Find the rows that have an id which one of the entries has or came with."""
    ids = [each for entry in entries for each in (entry.id, entry.given) if each is not None]
    columns = (SUBSCRIPTIONS.c[name] for name in ("id", "namespace", "deleting"))
    rows = connection.execute(select(*columns).where(SUBSCRIPTIONS.c.id.in_(ids)))
    return {row.id: row for row in rows}


def _is_there(entry: Entry, known: Mapping[str | None, Row[Any]]) -> bool:
    """Tell whether an entry is there already. The rows of other tenants must make no difference to one of them."""
    there = [known[each] for each in (entry.id, entry.given) if each in known]
    if entry.given is not None:
        there = [row for row in there if row.namespace == entry.channel.namespace]
        if not there and entry.id in known:  # an operator gave it away, with lines that had another namespace
            raise Conflict(f"id {entry.given!r} can't be kept; leave it out, or give the line another one")
    for row in there:
        if row.deleting:
            raise Conflict(f"subscription {row.id!r} was deleted and still ends; try again in a minute")
    return bool(there)


def _row(entry: Entry, revision: int) -> dict[str, Any]:
    return entry.row | {"revision": revision, "first_revision": revision, "edited": revision}

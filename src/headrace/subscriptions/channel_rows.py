"""Channels in the store's tables, each with the delivery object that holds for subscriptions without one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import delete, insert, select, update

from headrace.errors import Conflict, NotFound
from headrace.subscriptions.channel import ChannelName
from headrace.subscriptions.quotas import check_channels
from headrace.subscriptions.revisions import next_revision
from headrace.subscriptions.tables import CHANNELS, SUBSCRIPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import ColumnElement, Connection

    from headrace.subscriptions.quotas import Quotas


def add(
    connection: Connection, channel: ChannelName, delivery: Mapping[str, Any] | None, defaults: Quotas
) -> None:
    """Make a channel; the database refuses one that exists, and the quotas one too many."""
    next_revision(connection)
    check_channels(connection, channel.namespace, defaults)
    row = {"namespace": channel.namespace, "name": channel.name, "delivery": _encode(delivery)}
    connection.execute(insert(CHANNELS).values(row))


def change(connection: Connection, channel: ChannelName, delivery: Mapping[str, Any] | None) -> None:
    """Give a channel another delivery object, or none."""
    next_revision(connection)
    changed = connection.execute(update(CHANNELS).where(*_is(channel)).values(delivery=_encode(delivery)))
    if not changed.rowcount:
        raise NotFound("channel", str(channel))


def names(connection: Connection) -> list[ChannelName]:
    """List the channels in order of their names."""
    query = select(CHANNELS.c.namespace, CHANNELS.c.name).order_by(CHANNELS.c.namespace, CHANNELS.c.name)
    return [ChannelName(*row) for row in connection.execute(query)]


def deliveries(connection: Connection) -> dict[ChannelName, dict[str, Any]]:
    """Return the delivery objects of the channels that have one."""
    query = select(CHANNELS).where(CHANNELS.c.delivery.is_not(None))
    return {
        ChannelName(row.namespace, row.name): msgspec.json.decode(row.delivery)
        for row in connection.execute(query)
    }


def exists(connection: Connection, channel: ChannelName) -> bool:
    """Tell whether there is such a channel."""
    return connection.execute(select(CHANNELS.c.name).where(*_is(channel))).first() is not None


def remove(connection: Connection, channel: ChannelName) -> None:
    """Remove a channel that nobody listens to."""
    next_revision(connection)
    listening = select(SUBSCRIPTIONS.c.id).where(
        SUBSCRIPTIONS.c.namespace == channel.namespace,
        SUBSCRIPTIONS.c.channel == channel.name,
        ~SUBSCRIPTIONS.c.deleting,
    )
    if connection.execute(listening.limit(1)).first():
        raise Conflict(f"channel {channel} has subscriptions; delete them first")
    if not connection.execute(delete(CHANNELS).where(*_is(channel))).rowcount:
        raise NotFound("channel", str(channel))


def _is(channel: ChannelName) -> tuple[ColumnElement[bool], ...]:
    return CHANNELS.c.namespace == channel.namespace, CHANNELS.c.name == channel.name


def _encode(delivery: Mapping[str, Any] | None) -> str | None:
    return None if delivery is None else msgspec.json.encode(delivery).decode()

"""Channels in the store's tables, with what they say of their subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import delete, insert, select, update

from headrace.errors import Conflict, NotFound
from headrace.subscriptions.channels.config_keys import ConfigKey
from headrace.subscriptions.channels.document import Channel
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.quotas.checks import check_channels
from headrace.subscriptions.store.revisions import next_revision
from headrace.subscriptions.tables import CHANNELS, SUBSCRIPTIONS

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import ColumnElement, Connection, Row

    from headrace.subscriptions.quotas.quotas import Quotas


def add(connection: Connection, channel: Channel, defaults: Quotas) -> None:
    """Make a channel; the database refuses one that exists, and the quotas one too many."""
    next_revision(connection)
    check_channels(connection, channel.name.namespace, defaults)
    connection.execute(insert(CHANNELS).values(**channel.name._asdict(), **_columns(channel)))


def change(connection: Connection, channel: Channel, *columns: str) -> None:
    """Let these columns of a channel be as it says; without any, all."""
    next_revision(connection)
    values = {name: value for name, value in _columns(channel).items() if not columns or name in columns}
    changed = connection.execute(update(CHANNELS).where(*_is(channel.name)).values(values))
    if not changed.rowcount:
        raise NotFound("channel", str(channel.name))


def get(connection: Connection, channel: ChannelName) -> Channel:
    """Return a channel, or raise NotFound."""
    row = connection.execute(select(CHANNELS).where(*_is(channel))).first()
    if row is None:
        raise NotFound("channel", str(channel))
    return _from_row(row)


def everything(connection: Connection, namespaces: Collection[str] | None = None) -> list[Channel]:
    """List the channels, of some namespaces or of all, in order of their names, with all that they say."""
    query = select(CHANNELS).order_by(CHANNELS.c.namespace, CHANNELS.c.name)
    if namespaces is not None:
        query = query.where(CHANNELS.c.namespace.in_(sorted(namespaces)))
    return [_from_row(row) for row in connection.execute(query)]


def names(connection: Connection, namespaces: Collection[str] | None = None) -> list[ChannelName]:
    """List the channels, of some namespaces or of all, in order of their names."""
    query = select(CHANNELS.c.namespace, CHANNELS.c.name).order_by(CHANNELS.c.namespace, CHANNELS.c.name)
    if namespaces is not None:
        query = query.where(CHANNELS.c.namespace.in_(sorted(namespaces)))
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


def _columns(channel: Channel) -> dict[str, str | None]:
    return {"delivery": _encode(channel.delivery), "config": _encode(channel.config or None)}


def _from_row(row: Row[Any]) -> Channel:
    return Channel(
        ChannelName(row.namespace, row.name),
        None if row.delivery is None else msgspec.json.decode(row.delivery),
        {} if row.config is None else msgspec.json.decode(row.config, type=dict[str, ConfigKey]),
    )


def _encode(value: object) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()

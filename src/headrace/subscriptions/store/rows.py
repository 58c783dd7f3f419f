"""Subscriptions as rows of the store's table, and back."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.events.positions import LogPosition
from headrace.subscriptions.channels.name import ChannelName, parse_channel
from headrace.subscriptions.subscription import Subscription

if TYPE_CHECKING:
    from sqlalchemy import Row


def to_row(subscription: Subscription, revision: int) -> dict[str, Any]:
    """Return the row of a new subscription."""
    return {
        "id": subscription.id,
        "namespace": subscription.channel.namespace,
        "channel": subscription.channel.name,
        "deleting": subscription.deleting,
        "paused": subscription.paused,
        "first_revision": revision,
        **edited(subscription, revision),
    }


def edited(subscription: Subscription, revision: int) -> dict[str, Any]:
    """Return the columns that follow what the owner of a subscription gave, as of a revision."""
    return {
        "protocol": subscription.protocol,
        "sink_digest": digest(subscription.sink),
        "document": msgspec.json.encode(subscription.document()).decode(),
        "compiled": subscription.compiled,
        "ended": subscription.ended,
        "state": subscription.state,
        "revision": revision,
        "edited": revision,
    }


def digest(sink: str) -> str:
    """Return what a sink is found by: it may be longer than an index takes."""
    return hashlib.blake2b(sink.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def from_row(row: Row[Any]) -> Subscription:
    """Read a row; what this version can't read is a KeyError, a TypeError or msgspec's DecodeError."""
    return replace(
        from_document(row.id, row.document, ChannelName(row.namespace, row.channel)),
        created=cut_of(row.created),
        deleted=cut_of(row.deleted),
        deleting=row.deleting,
        paused=row.paused,
        ended=row.ended,
        edited=row.edited,
        compiled=row.compiled,
    )


def from_document(subscription_id: str, text: str, channel: ChannelName | None = None) -> Subscription:
    """Read what `Subscription.document` wrote; the channel stands in it, unless it is given."""
    document = msgspec.json.decode(text)
    return Subscription(
        id=subscription_id,
        channel=channel or parse_channel(document["config"]["channel"]),
        sink=document.get("sink", ""),
        protocol=document["protocol"],
        source=document.get("source"),
        types=tuple(document.get("types", ())),
        filters=tuple(document["filters"]),
        config=document["config"],
        protocolsettings=document["protocolsettings"],
        sink_credential=document.get("sinkCredential"),
    )


def cut_of(text: str | None) -> LogPosition | None:
    """Read a column that holds a cut."""
    return None if text is None else LogPosition.from_json(text)

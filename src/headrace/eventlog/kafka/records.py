"""Events as records of the log's topics, with Headrace's own headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.events.bindings import kafka
from headrace.events.recorded import Arrival

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.eventlog.kafka.topics import Topic

NAMESPACE, CHANNEL = "headrace-namespace", "headrace-channel"
TRACEPARENT, TRACESTATE = "traceparent", "tracestate"
DEFAULT = "default"


def key_of(arrival: Arrival) -> bytes:
    """Return the key that decides the partition: events of one key stay in order.

    It is `partitionkey`, as the binding says, or else source and subject: events about one thing stay in order, while
    a busy source uses all partitions.
    """
    attributes = arrival.event.attributes
    key = attributes.get("partitionkey")
    if key is None:
        key = f"{arrival.event.source}\n{arrival.event.subject or ''}"
    return str(key).encode()


def write_record(arrival: Arrival) -> kafka.KafkaMessage:
    """Return the record of an event."""
    message = kafka.encode(arrival.event)
    own = (
        (NAMESPACE, arrival.namespace),
        (CHANNEL, arrival.channel),
        (TRACEPARENT, arrival.traceparent),
        (TRACESTATE, arrival.tracestate),
    )
    message.headers.extend((name, text.encode()) for name, text in own if text is not None)
    return message


def read_record(
    topic: Topic, headers: Sequence[tuple[str, bytes | None]] | None, value: bytes | None
) -> Arrival:
    """Read a record, written by Headrace or any other producer. Raise what `kafka.decode` raises.

    If a topic belongs to a namespace, no header can put an event into another one.
    """
    headers = headers or ()
    event = kafka.decode(headers, value)
    own = {name.lower(): (content or b"").decode(errors="replace") for name, content in headers}
    namespace = topic.namespace or own.get(NAMESPACE, DEFAULT)
    channel = own.get(CHANNEL, DEFAULT)
    return Arrival(event, namespace, channel, own.get(TRACEPARENT), own.get(TRACESTATE))

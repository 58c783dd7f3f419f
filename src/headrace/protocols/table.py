"""The protocols that events are delivered over, by the names that the Subscriptions API gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.protocols.amqp import AMQP
from headrace.protocols.http import HTTP
from headrace.protocols.kafka import KAFKA
from headrace.protocols.mqtt import MQTT3, MQTT5
from headrace.protocols.nats import NATS
from headrace.protocols.pull import PULL

if TYPE_CHECKING:
    from headrace.protocols.protocol import Protocol

PROTOCOLS: dict[str, Protocol] = {
    "HTTP": HTTP,
    "KAFKA": KAFKA,
    "MQTT3": MQTT3,
    "MQTT5": MQTT5,
    "AMQP": AMQP,
    "NATS": NATS,
    "PULL": PULL,
}

"""The protocols that events are delivered over, by the names that the Subscriptions API gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.subscriptions.protocols.amqp import AMQP
from headrace.subscriptions.protocols.http import HTTP
from headrace.subscriptions.protocols.kafka import KAFKA
from headrace.subscriptions.protocols.mqtt import MQTT3, MQTT5
from headrace.subscriptions.protocols.nats import NATS
from headrace.subscriptions.protocols.pull import PULL

if TYPE_CHECKING:
    from headrace.subscriptions.protocols.protocol import Protocol

PROTOCOLS: dict[str, Protocol] = {
    "HTTP": HTTP,
    "KAFKA": KAFKA,
    "MQTT3": MQTT3,
    "MQTT5": MQTT5,
    "AMQP": AMQP,
    "NATS": NATS,
    "PULL": PULL,
}

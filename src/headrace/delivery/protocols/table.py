"""The delivery protocols by name. A protocol's library is imported when its first delivery is made, and not before."""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.delivery.attempt.outcome import Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.delivery.attempt.outcome import Sender
    from headrace.delivery.attempt.payload import Payload
    from headrace.delivery.attempt.target import Target
    from headrace.delivery.settings import DeliverySettings
    from headrace.delivery.sinks.callbacks import Callbacks
    from headrace.delivery.sinks.guard import Guard


@dataclass(frozen=True, slots=True)
class Entry:
    """A sender's module and class, and what has to be installed for it: a package, and the extra that brings it."""

    module: str
    name: str
    package: str
    extra: str = ""


PROTOCOLS: dict[str, Entry] = {
    "HTTP": Entry("headrace.delivery.protocols.http.sender", "HttpSender", "aiohttp"),
    "KAFKA": Entry("headrace.delivery.protocols.kafka.sender", "KafkaSender", "aiokafka", "kafka"),
    "MQTT3": Entry(
        "headrace.delivery.protocols.mqtt.sender", "MqttSender", "headrace"
    ),  # it needs nothing else
    "MQTT5": Entry("headrace.delivery.protocols.mqtt.sender", "MqttSender", "headrace"),
    "AMQP": Entry("headrace.delivery.protocols.amqp.sender", "AmqpSender", "proton", "amqp"),
    "NATS": Entry("headrace.delivery.protocols.nats.sender", "NatsSender", "nats", "nats"),
}


def new_senders(
    guard: Guard, settings: DeliverySettings, callbacks: Callbacks | None = None
) -> dict[str, Sender]:
    """Make a sender for each protocol."""
    options = {"HTTP": {"origin": settings.webhook_origin, "callbacks": callbacks}}
    return {name: new_sender(name, guard, settings.ca_file, **options.get(name, {})) for name in PROTOCOLS}


def new_sender(protocol: str, *arguments: Any, **options: Any) -> Sender:
    """Make the sender of a protocol. Where its library isn't installed, every attempt says how to install it."""
    entry = PROTOCOLS.get(protocol)
    if entry is None:
        return Missing(f"this version doesn't deliver over {protocol}")
    if importlib.util.find_spec(entry.package) is None:
        return Missing(
            f'delivery over {protocol} needs a package that isn\'t installed: pip install "headrace[{entry.extra}]"'
        )
    made: Sender = getattr(importlib.import_module(entry.module), entry.name)(*arguments, **options)
    return made


class Missing:
    """Stands for a sender that can't be made. It may be installed later: deliveries are kept and tried again."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def send(self, target: Target, payloads: Sequence[Payload]) -> Outcome:  # noqa: ARG002
        """Say what is missing."""
        return Outcome(Verdict.AGAIN, self._reason)

    async def forget(self, owner: str) -> None:
        """Have nothing to forget."""

    async def close(self) -> None:
        """Have nothing to close."""

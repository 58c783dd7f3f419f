"""What goes out at which stage, and where to: the event, its reply, or the dead letter that tells of a failure."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.delivery.attempt.hops import HOPS, hops_left
from headrace.delivery.attempt.payload import Payload
from headrace.delivery.attempt.target import Target
from headrace.events.bindings.http import encode_structured
from headrace.events.event import Event
from headrace.events.json_format import decode
from headrace.events.recorded import Arrival, Recorded
from headrace.ledger.stages import DEAD_LETTER, REPLY
from headrace.ledger.texts import storable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.delivery.attempt.outcome import Outcome
    from headrace.delivery.queue.delivery import Delivery
    from headrace.events.event import AttributeValue
    from headrace.secrets.credential import Plain, Token
    from headrace.subscriptions.delivery.spec import DeliverySpec
    from headrace.subscriptions.subscription import Subscription

NO_RESPONSE = -1
"""What `knativeerrorcode` says where nobody answered, as in Knative."""

_ERROR_BYTES = 1024


class Failure(msgspec.Struct, frozen=True):
    """Why a delivery became a dead letter: at which stage, after how many attempts, and what was answered."""

    stage: str
    attempts: int
    reason: str
    dest: str
    code: int
    data: str

    def to_json(self) -> str:
        """Return it as the ledger keeps it."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Failure:
        """Read what `to_json` wrote."""
        return msgspec.json.decode(text, type=cls)


def failure_of(delivery: Delivery, outcome: Outcome, dest: str) -> Failure:
    """Return what the dead letter of a delivery has to say."""
    code = NO_RESPONSE if outcome.status is None else outcome.status
    data = b64encode(outcome.body[:_ERROR_BYTES]).decode()
    return Failure(delivery.key.stage, delivery.attempts, storable(outcome.reason), dest, code, data)


def payload_of(delivery: Delivery) -> Payload:
    """Return what is sent: the event, with the error extensions where it is a dead letter."""
    if delivery.failure is None:
        return delivery.payload
    failure, recorded = Failure.from_json(delivery.failure), delivery.payload.recorded
    event = recorded.event
    extensions: dict[str, AttributeValue] = {
        "knativeerrordest": failure.dest,
        "knativeerrorcode": failure.code,
        "knativeerrordata": failure.data,
        HOPS: max(0, hops_left(event) - 1),
    }
    told = Event({**event.attributes, **extensions}, event.data, event.data_kind)
    return Payload(replace(recorded, arrival=replace(recorded.arrival, event=told)))


def stored_event(payload: Payload) -> bytes:
    """Return the event as the ledger keeps it: structured JSON."""
    return encode_structured(payload.recorded.event).body


def stored_payload(event: bytes, position: int) -> Payload:
    """Read what `stored_event` wrote."""
    return Payload(Recorded(position, 0, Arrival(decode(event), "", "")))


def address_of(subscription: Subscription, spec: DeliverySpec, stage: str) -> str | None:
    """Return where a stage's deliveries go; None where the subscription has no such address."""
    if stage == DEAD_LETTER:
        return spec.dead_letter_sink
    return subscription.reply if stage == REPLY else subscription.sink


def sink_target(
    subscription: Subscription,
    spec: DeliverySpec,
    credential: Plain | Token | None,
    signing: tuple[str, ...],
    settings: Mapping[str, Any],
) -> Target:
    """Return where a subscription's events go, with what authorises them; for deliveries and for tests of a sink."""
    return Target(
        subscription.id,
        subscription.protocol,
        subscription.sink,
        spec.settings(subscription.protocol, settings),
        spec.timeout,
        credential,
        signing,
        wants_reply=subscription.reply is not None,
    )

"""The client of the HTTP API: it sends and pulls events, and has the calls of every part of the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import msgspec

from headrace.client.calls.access import AccessCalls
from headrace.client.calls.channels import ChannelCalls
from headrace.client.calls.deliveries import DeliveryCalls
from headrace.client.calls.history import HistoryCalls
from headrace.client.calls.objects import ObjectCalls
from headrace.client.calls.subscriptions import SubscriptionCalls
from headrace.client.consumer import Consumer, PulledEvent
from headrace.client.defaults import DEFAULT_CHANNEL, DEFAULT_URL
from headrace.client.publisher import Publisher
from headrace.client.session import query
from headrace.errors import ServiceRefused
from headrace.events.bindings.http import HttpMessage, encode_batch, encode_binary, encode_structured
from headrace.events.json_format import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.client.interest import InterestKind
    from headrace.events.event import Event


class _PulledEvent(msgspec.Struct):
    event: msgspec.Raw
    cursor: str
    position: int
    handed: int
    replay: str | None = None


class _Pulled(msgspec.Struct):
    events: list[_PulledEvent]


class Client(ChannelCalls, SubscriptionCalls, DeliveryCalls, HistoryCalls, ObjectCalls, AccessCalls):
    """Use it as an async context manager, from one event loop.

    `token` is an API key or a token of an OpenID provider, where the service requires one, or a function that returns
    it and is called for each request, such as a TokenFile.
    Errors are ServiceRefused, with the service's own words, and ServiceUnreachable.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        *,
        token: str | Callable[[], str] | None = None,
        timeout_seconds: float = 30.0,
    ) -> None:
        super().__init__(url, token=token, timeout_seconds=timeout_seconds)
        self._consumers: WeakSet[Consumer] = WeakSet()

    async def __aexit__(self, *exception: object) -> None:
        for consumer in list(self._consumers):
            await consumer.close()
        await super().__aexit__(*exception)

    # Publishing

    async def publish(
        self, event: Event, channel: str = DEFAULT_CHANNEL, *, structured: bool = False
    ) -> None:
        """Send one event; it is durable when this returns."""
        await self.post(encode_structured(event) if structured else encode_binary(event), channel)

    async def publish_batch(self, events: Sequence[Event], channel: str = DEFAULT_CHANNEL) -> None:
        """Send many events in one request: all of them are durable when this returns, or none."""
        await self.post(encode_batch(events), channel)

    async def post(self, message: HttpMessage, channel: str = DEFAULT_CHANNEL) -> None:
        """Send an encoded message to a channel."""
        await self._request("POST", f"/channels/{channel}", message.body, message.headers)

    def publisher(
        self,
        channel: str = DEFAULT_CHANNEL,
        *,
        interest: InterestKind | None = "cel",
        max_age: float = 0.0,
    ) -> Publisher:
        """Return a publisher that drops events that nobody wants, by the channel's CEL expression or its Bloom filter.

        It asks the service before it drops an event. With a `max_age` it relies on an answer for so many seconds; who
        subscribes meanwhile may miss what it drops.
        """
        return Publisher(self, channel, interest, max_age)

    async def interest(self, channel: str = DEFAULT_CHANNEL) -> dict[str, Any]:
        """Return what a channel's subscriptions want, as one CEL expression."""
        return await self._object("GET", f"/api/channels/{channel}/interest")

    # Pulling

    def events(self, subscription_id: str, *, max_events: int = 500) -> Consumer:
        """Return an async iterator over the events of a subscription of protocol PULL, fetched `max_events` at a time.

        An event is acknowledged when the next one is requested, so every event comes at least once.
        """
        wait_seconds = max(1, min(20, int((self._timeout.total or 60) / 2)))
        consumer = Consumer(self, subscription_id, most=max_events, wait_seconds=wait_seconds)
        self._consumers.add(consumer)
        return consumer

    async def pull(
        self, subscription_id: str, *, max_events: int = 100, wait_seconds: int = 0, cursor: str | None = None
    ) -> list[PulledEvent]:
        """Return events of a subscription of protocol PULL, once there are any or the time is up.

        They come again after the lease, unless they are acknowledged. The `cursor` of an event that was pulled before
        acknowledges all up to it; what the same consumer holds beyond it comes again now.
        """
        parameters = query({"max": max_events, "wait": wait_seconds, "cursor": cursor})
        path = f"/api/subscriptions/{subscription_id}/events?{parameters}"
        answer = await self._request("GET", path, headers=[("accept", "application/json")])
        found = self._read(answer, _Pulled).events if answer else []
        return [
            PulledEvent(decode(bytes(each.event)), each.cursor, each.position, each.handed, each.replay)
            for each in found
        ]

    async def acknowledge(
        self,
        subscription_id: str,
        *,
        up_to: str | None = None,
        ids: Sequence[str] = (),
        release: bool = False,
    ) -> dict[str, Any]:
        """Acknowledge all events up to a cursor, and these; with `release`, give back the others that are held."""
        said = {"upTo": up_to, "ids": list(ids), "release": release}
        document = {name: value for name, value in said.items() if value}
        return await self._object("POST", f"/api/subscriptions/{subscription_id}/ack", document)

    # Operation

    async def readiness(self) -> dict[str, Any]:
        """Return whether every role is ready; an answer with status 503 is no error."""
        try:
            return await self._object("GET", "/readyz")
        except ServiceRefused as refusal:
            return refusal.problem

    async def metrics(self) -> str:
        """Return the metrics in Prometheus' text format."""
        return (await self._request("GET", "/metrics")).decode()

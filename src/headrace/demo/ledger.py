"""The demo's record of what was sent, what should arrive, and what did."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from headrace.demo.scenario import SUBSCRIPTIONS

if TYPE_CHECKING:
    from headrace.client import Received
    from headrace.events.event import Event


class Account(NamedTuple):
    """One subscription's line of the summary."""

    name: str
    wanted: int
    delivered: int
    missing: int
    unwanted: int
    repeated: int
    altered: int
    p50: float
    p99: float


class DemoLedger:
    """Judges deliveries by the demo's own rules, not by the service's. For one event loop.

    `wanted` counts the deliveries that should arrive, `arrived` the different ones of them that did.
    """

    def __init__(self) -> None:
        self._sent: dict[str, tuple[Event, float]] = {}
        self._wanted: dict[str, set[str]] = {subscription.name: set() for subscription in SUBSCRIPTIONS}
        self._arrived: dict[str, Counter[str]] = {
            subscription.name: Counter() for subscription in SUBSCRIPTIONS
        }
        self._altered: Counter[str] = Counter()
        self._latencies: dict[str, list[float]] = {subscription.name: [] for subscription in SUBSCRIPTIONS}
        self.accepted = 0
        self.wanted = 0
        self.arrived = 0

    def sending(self, event: Event, time: float) -> None:
        """Record an event before it is posted."""
        self._sent[event.id] = (event, time)
        for subscription in SUBSCRIPTIONS:
            if subscription.wanted(event.attributes):
                self._wanted[subscription.name].add(event.id)
                self.wanted += 1

    def received(self, delivery: Received) -> None:
        """Record a delivery."""
        name, event = delivery.path.strip("/"), delivery.event
        original, sent_at = self._sent[event.id]
        self._arrived[name][event.id] += 1
        if self._arrived[name][event.id] == 1 and event.id in self._wanted[name]:
            self.arrived += 1
        self._latencies[name].append(delivery.time - sent_at)
        if (event.attributes, event.data) != (original.attributes, original.data):
            self._altered[name] += 1

    def accounts(self) -> list[Account]:
        """Return the summary, one line per subscription."""
        return [self._account(name) for name in self._wanted]

    def latency(self, quantile: float) -> float:
        """Return a quantile over all deliveries, from before the POST to the sink, in milliseconds."""
        return _quantile([latency for each in self._latencies.values() for latency in each], quantile)

    def _account(self, name: str) -> Account:
        wanted, arrived = self._wanted[name], self._arrived[name]
        return Account(
            name,
            wanted=len(wanted),
            delivered=len(wanted & arrived.keys()),
            missing=len(wanted - arrived.keys()),
            unwanted=len(arrived.keys() - wanted),
            repeated=arrived.total() - len(arrived),
            altered=self._altered[name],
            p50=_quantile(self._latencies[name], 0.5),
            p99=_quantile(self._latencies[name], 0.99),
        )


def _quantile(values: list[float], quantile: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * quantile), len(ordered) - 1)] * 1000 if ordered else float("nan")

"""The demo's subscriptions and events. What should arrive is stated twice: as a filter, and in plain Python."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.events.event import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


@dataclass(frozen=True, slots=True)
class DemoSubscription:
    """A subscription, and the same condition as a Python function, by which the demo judges deliveries."""

    name: str
    filters: tuple[dict[str, Any], ...]
    wanted: Callable[[Mapping[str, Any]], bool]


SUBSCRIPTIONS = (
    DemoSubscription("everything", (), lambda _: True),
    DemoSubscription(
        "orders",
        ({"prefix": {"type": "com.example.order."}},),
        lambda ce: ce["type"].startswith("com.example.order."),
    ),
    DemoSubscription(
        "cancelled-in-eu",
        ({"exact": {"type": "com.example.order.cancelled"}}, {"suffix": {"subject": ".eu"}}),
        lambda ce: ce["type"] == "com.example.order.cancelled" and ce.get("subject", "").endswith(".eu"),
    ),
    DemoSubscription(
        "failures", ({"suffix": {"type": ".failed"}},), lambda ce: ce["type"].endswith(".failed")
    ),
    DemoSubscription(
        "no-sensors",
        ({"not": {"prefix": {"source": "/sensors/"}}},),
        lambda ce: not ce["source"].startswith("/sensors/"),
    ),
    DemoSubscription(
        "vip-or-payment",
        ({"any": [{"exact": {"tier": "vip"}}, {"prefix": {"type": "com.example.payment."}}]},),
        lambda ce: ce.get("tier") == "vip" or ce["type"].startswith("com.example.payment."),
    ),
)

_TYPES = (
    ("com.example.order.created", "/shop/orders"),
    ("com.example.order.cancelled", "/shop/orders"),
    ("com.example.payment.settled", "/shop/payments"),
    ("com.example.payment.failed", "/shop/payments"),
    ("com.example.delivery.failed", "/shop/deliveries"),
    ("org.example.temperature", "/sensors/hall-1"),
    ("org.example.humidity", "/sensors/hall-2"),
)
_REGIONS = ("eu", "us", "apac")


def sample_events(count: int, seed: int = 7) -> Iterator[Event]:
    """Make events as a shop and its sensors would; the same ones every time."""
    chance = random.Random(seed)
    for number in range(count):
        type_, source = chance.choice(_TYPES)
        attributes: dict[str, Any] = {
            "specversion": "1.0",
            "id": f"demo-{number}",
            "source": source,
            "type": type_,
            "time": f"2026-01-01T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}Z",
            "datacontenttype": "application/json",
        }
        if chance.random() < 0.8:
            attributes["subject"] = f"item-{chance.randrange(1000)}.{chance.choice(_REGIONS)}"
        if chance.random() < 0.1:
            attributes["tier"] = "vip"
        data = {
            "number": number,
            "amount": round(chance.uniform(1, 500), 2),
            "note": "x" * chance.randrange(200),
        }
        yield Event(attributes, msgspec.json.encode(data))

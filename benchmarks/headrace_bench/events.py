"""The events that benchmarks send: seeded, about 700 bytes of JSON, shaped like orders."""

from __future__ import annotations

import random

import msgspec

from headrace.events.event import Event


def bench_events(count: int, prefix: str = "bench", kinds: int = 10, seed: int = 11) -> list[Event]:
    """Make events; `type` ends with a number below `kinds`, evenly spread."""
    chance = random.Random(seed)
    filler = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz ", k=4000))
    return [_event(f"{prefix}-{number}", number % kinds, chance, filler) for number in range(count)]


def _event(id_: str, kind: int, chance: random.Random, filler: str) -> Event:
    at = chance.randrange(3400)
    data = {
        "order": chance.randrange(10**9),
        "amount": round(chance.uniform(1, 5000), 2),
        "customer": {"id": chance.randrange(10**6), "tier": chance.choice(["basic", "gold", "vip"])},
        "items": [{"sku": chance.randrange(10**5), "count": chance.randrange(1, 9)} for _ in range(4)],
        "note": filler[at : at + 400],
    }
    attributes = {
        "specversion": "1.0",
        "id": id_,
        "source": f"/shops/{chance.randrange(100)}",
        "type": f"com.example.order.{kind}",
        "subject": f"order-{chance.randrange(10**6)}",
        "time": "2026-01-01T00:00:00Z",
        "datacontenttype": "application/json",
    }
    return Event(attributes, msgspec.json.encode(data))

"""Power cuts: the whole service is killed at random moments under load, and nothing that got a 202 is lost."""

import asyncio
import random
import time
from collections import Counter

from headrace.client import Client, Sink
from headrace.errors import ServiceRefused, ServiceUnreachable
from headrace.events.event import Event

_KILLS = 4
_PRODUCERS = 4
_WISHES = {
    "all": [],
    "even": [{"suffix": {"type": ".even"}}],
    "not-third": [{"not": {"exact": {"third": "yes"}}}],
}


def _event(producer: int, number: int) -> Event:
    attributes = {
        "specversion": "1.0",
        "id": f"{producer}-{number}",
        "source": f"/producers/{producer}",
        "type": "kill." + ("odd" if number % 2 else "even"),
        **({"third": "yes"} if number % 3 == 0 else {}),
    }
    return Event(attributes, b"%d" % number)


def _wants(name: str, event: Event) -> bool:
    """The judge: the same wishes in plain Python."""
    return {
        "all": True,
        "even": event.type.endswith(".even"),
        "not-third": event.attributes.get("third") != "yes",
    }[name]


class _Ledger:
    def __init__(self) -> None:
        self.accepted: dict[str, Event] = {}
        self.arrived: dict[str, Counter[str]] = {name: Counter() for name in _WISHES}
        self.unwanted = 0
        self.altered = 0

    def received(self, delivery) -> None:
        name, event = delivery.path.strip("/"), delivery.event
        self.arrived[name][event.id] += 1
        self.unwanted += not _wants(name, event)
        self.altered += event != _event(*map(int, event.id.split("-")))

    def missing(self) -> list[tuple[str, str]]:
        return [
            (name, event.id)
            for name in _WISHES
            for event in self.accepted.values()
            if _wants(name, event) and event.id not in self.arrived[name]
        ]


async def _produce(producer: int, url: str, ledger: _Ledger, stop: asyncio.Event) -> None:
    """Post without a pause; an event counts when its 202 came."""
    number = 0
    async with Client(url, timeout_seconds=5) as client:
        while not stop.is_set():
            batch = [_event(producer, number + n) for n in range(random.choice([1, 1, 5]))]
            number += len(batch)
            try:
                await (client.publish(batch[0]) if len(batch) == 1 else client.publish_batch(batch))
            except (ServiceUnreachable, ServiceRefused):
                await asyncio.sleep(0.05)
            else:
                ledger.accepted |= {event.id: event for event in batch}
                await asyncio.sleep(0.04)


async def test_nothing_that_was_accepted_is_lost(make_service, record_property, capsys):
    ledger, chance = _Ledger(), random.Random()
    seed = chance.randrange(10**6)
    chance.seed(seed)
    service = make_service(DELIVERY_BACKOFF_SECONDS="0.1", DELIVERY_BACKOFF_MAX_SECONDS="1.0")
    service.start()
    await service.wait_until_ready()
    stop = asyncio.Event()
    async with Sink(ledger.received) as sink:
        async with Client(service.url) as client:
            for name, filters in _WISHES.items():
                await client.subscribe({"sink": f"{sink.url}/{name}", "protocol": "HTTP", "filters": filters})
        producers = [
            asyncio.create_task(_produce(number, service.url, ledger, stop)) for number in range(_PRODUCERS)
        ]
        for kill in range(_KILLS):
            if kill % 2 == 0:  # while everything runs; otherwise at some moment of its start
                await service.wait_until_ready()
            await asyncio.sleep(chance.uniform(0.2, 4.0))
            service.kill()
            service.start()
        await service.wait_until_ready()
        stop.set()
        await asyncio.gather(*producers)
        deadline = time.monotonic() + 90
        while ledger.missing() and time.monotonic() < deadline:
            await asyncio.sleep(0.2)
    assert service.stop() == 0

    delivered = sum(map(len, ledger.arrived.values()))
    repeated = sum(arrived.total() - len(arrived) for arrived in ledger.arrived.values())
    record_property("repeated", repeated)
    with capsys.disabled():
        print(  # noqa: T201  the figures are part of what this test shows
            f"\n{_KILLS} kills (seed {seed}): {len(ledger.accepted)} accepted, {delivered} delivered, "
            f"{len(ledger.missing())} lost, {repeated} repeated"
        )
    assert len(ledger.accepted) > 200
    assert ledger.missing() == []
    assert ledger.unwanted == 0
    assert ledger.altered == 0

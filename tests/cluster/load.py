"""Producers, and the ledger of what was accepted and what a sink got."""

import asyncio
import time
from collections import Counter

from headrace.client import Client
from headrace.errors import ServiceRefused, ServiceUnreachable
from headrace.events.event import Event

_PRODUCERS = 3
_PATIENCE = 300.0
# Producers pause while more than this is on its way: else a slow machine's backlog after a kill measures its speed.
_MOST_UNDER_WAY = 1000


def event_of(producer: int, number: int) -> Event:
    attributes = {
        "specversion": "1.0",
        "id": f"{producer}-{number}",
        "source": f"/producers/{producer}",
        "type": "kill.odd" if number % 2 else "kill.even",
        "subject": str(number % 5),
    }
    return Event(attributes, b"%d" % number)


class Load:
    """Each of `names` gets every event, and `odd` every other one."""

    def __init__(self, url: str, names: list[str]) -> None:
        self._url = url
        self._names = names
        self._stop = asyncio.Event()
        self._producers: list[asyncio.Task[None]] = []
        self.accepted: set[str] = set()
        self.refused: Counter[str] = Counter()
        self.arrived: dict[str, Counter[str]] = {name: Counter() for name in [*names, "odd"]}

    def received(self, delivery) -> None:
        self.arrived[delivery.path.strip("/")][delivery.event.id] += 1

    async def subscribe(self, client: Client, sink: str) -> None:
        for name in self._names:
            await client.subscribe({"sink": f"{sink}/{name}", "protocol": "HTTP"})
        odd = [{"suffix": {"type": ".odd"}}]
        await client.subscribe({"sink": f"{sink}/odd", "protocol": "HTTP", "filters": odd})

    def start(self) -> None:
        self._producers = [asyncio.create_task(self._produce(each)) for each in range(_PRODUCERS)]

    async def _produce(self, producer: int) -> None:
        """Single events and batches; an event counts when its 202 came."""
        number = 0
        async with Client(self._url, timeout_seconds=20) as client:
            while not self._stop.is_set():
                batch = [event_of(producer, number + n) for n in range(1 if number % 3 else 4)]
                number += len(batch)
                try:
                    await (client.publish(batch[0]) if len(batch) == 1 else client.publish_batch(batch))
                except (ServiceUnreachable, ServiceRefused) as error:
                    self.refused[str(error)] += len(batch)
                    await asyncio.sleep(0.1)
                else:
                    self.accepted |= {event.id for event in batch}
                    await self._pause()

    async def _pause(self) -> None:
        await asyncio.sleep(0.05)
        while len(self.accepted) - len(self.arrived[self._names[0]]) > _MOST_UNDER_WAY:
            if self._stop.is_set():
                return
            await asyncio.sleep(0.1)

    async def goes_on(self, events: int) -> None:
        """Wait until so many more are accepted, and these have arrived everywhere."""
        deadline, wanted = time.monotonic() + _PATIENCE, len(self.accepted) + events
        while len(self.accepted) < wanted:
            assert time.monotonic() < deadline, f"nothing is accepted: {self.refused}"
            await asyncio.sleep(0.1)
        await self._arrive(set(self.accepted))

    async def finish(self) -> None:
        """Stop, and wait for everything that was accepted."""
        self._stop.set()
        await asyncio.gather(*self._producers)
        await self._arrive(self.accepted)

    async def _arrive(self, accepted: set[str]) -> None:
        deadline = time.monotonic() + _PATIENCE
        while missing := self._missing(accepted):
            assert time.monotonic() < deadline, f"{len(missing)} are missing: {sorted(missing)[:9]}"
            await asyncio.sleep(0.1)

    def _missing(self, accepted: set[str]) -> list[tuple[str, str]]:
        odd = {each for each in accepted if int(each.split("-")[1]) % 2}
        wanted = dict.fromkeys(self._names, accepted) | {"odd": odd}
        return [(name, each) for name, ids in wanted.items() for each in ids - self.arrived[name].keys()]

    def figures(self) -> str:
        repeated = sum(each.total() - len(each) for each in self.arrived.values())
        lost = len(self._missing(self.accepted))
        return (
            f"{len(self.accepted)} accepted, {self.refused.total()} refused, {lost} lost, "
            f"{repeated} deliveries repeated"
        )

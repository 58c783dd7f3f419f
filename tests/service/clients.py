"""Clients that publish, create and delete at the same time, and the ledger of what each was told, and when.

It says which pairs must be planned, which must not be, and which may be because two requests were under way together.
"""

import asyncio
import random
import time
from dataclasses import dataclass

from headrace.client import Client
from headrace.events.event import Event

_PUBLISHERS = 4
_SUBSCRIBERS = 6
_SECONDS = 4.0
_FEWEST_EVENTS = 400  # on a slow machine it takes longer
_TYPES = ("a", "b")
_FOREVER = float("inf")


@dataclass
class Act:
    """A request: when it was begun, and when its answer was there."""

    began: float
    ended: float = _FOREVER

    def before(self, other: "Act") -> bool:
        return self.ended < other.began


@dataclass
class Subscribed:
    type: str
    created: Act
    deleted: Act

    def must_see(self, published: Act) -> bool:
        return self.created.before(published) and published.before(self.deleted)

    def may_see(self, published: Act) -> bool:
        return not published.before(self.created) and not self.deleted.before(published)


class ClientLedger:
    def __init__(self, url: str) -> None:
        self._url = url
        self.published: dict[str, tuple[str, Act]] = {}
        self.subscribed: dict[str, Subscribed] = {}
        self._end = time.monotonic() + _SECONDS

    def _goes_on(self) -> bool:
        return time.monotonic() < self._end or len(self.published) < _FEWEST_EVENTS

    async def publish(self, publisher: int) -> None:
        number = 0
        async with Client(self._url) as client:
            while self._goes_on():
                id_, type_ = f"{publisher}-{number}", random.choice(_TYPES)
                number += 1
                event = Event({"specversion": "1.0", "id": id_, "source": "/s", "type": type_})
                act = Act(time.monotonic())
                await client.publish(event)
                act.ended = time.monotonic()
                self.published[id_] = type_, act

    async def subscribe(self) -> None:
        async with Client(self._url) as client:
            while self._goes_on():
                type_ = random.choice(_TYPES)
                created = Act(time.monotonic())
                wish = {
                    "sink": "http://127.0.0.1:9/",
                    "protocol": "HTTP",
                    "filters": [{"exact": {"type": type_}}],
                }
                id_ = (await client.subscribe(wish))["id"]
                created.ended = time.monotonic()
                subscribed = self.subscribed[id_] = Subscribed(type_, created, Act(_FOREVER))
                await asyncio.sleep(random.uniform(0, 0.3))
                if random.random() < 0.8:
                    subscribed.deleted = Act(time.monotonic())
                    await client.unsubscribe(id_)
                    subscribed.deleted.ended = time.monotonic()

    async def run(self) -> None:
        publishers = [self.publish(number) for number in range(_PUBLISHERS)]
        await asyncio.gather(*publishers, *(self.subscribe() for _ in range(_SUBSCRIBERS)))

    def check(self, pairs: list[tuple[str, str]]) -> None:
        assert len(pairs) == len(set(pairs))
        seen = set(pairs)
        musts = 0
        for subscription, it in self.subscribed.items():
            for event, (type_, act) in self.published.items():
                is_seen = (event, subscription) in seen
                if type_ == it.type and it.must_see(act):
                    musts += 1
                    assert is_seen, (
                        f"{event} was published after {subscription} was created, and isn't planned"
                    )
                assert not is_seen or (type_ == it.type and it.may_see(act)), (
                    f"{event} isn't for {subscription}"
                )
        assert musts > 500
        assert len(self.subscribed) > _SUBSCRIBERS

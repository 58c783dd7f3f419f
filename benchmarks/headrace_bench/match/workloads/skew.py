"""One account that 10,000 subscriptions wait for, among accounts that few wait for.

An event of the hot account is wanted by all of its subscriptions; one event in a hundred is. Half of these
subscriptions ask for the account alone, the others for an amount as well, each for a different one.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from headrace.events.event import Event
from headrace_bench.match.rules import Equal, Rule, Within

if TYPE_CHECKING:
    from collections.abc import Iterator

HOT = 10_000
HOT_AMOUNT = 5_000_000
_ACCOUNTS, _EVERY, _ABOVE_ALL = 50_000, 100, 10_000_000


@dataclass(frozen=True, slots=True)
class Skew:
    """At most half of the rules are about the hot account."""

    name: str = "skew"
    sizes: tuple[int, ...] = (20_000, 100_000, 1_000_000)

    def rules(self, count: int, seed: int) -> Iterator[Rule]:
        """Yield the rules about the hot account among the others, evenly spread."""
        chance = random.Random(f"skew rules {seed}")
        every = count // hot_rules(count) if count > 1 else 1
        for number in range(count):
            is_hot = number % every == 0 and number // every < hot_rules(count)
            yield (
                _hot_rule(number // every)
                if is_hot
                else Rule((_account(f"account-{chance.randrange(_ACCOUNTS)}"),))
            )

    def events(self, count: int, seed: int) -> list[Event]:
        """Return events, every hundredth of them of the hot account and that one with a large amount."""
        chance = random.Random(f"skew events {seed}")
        return [_event(number, chance) for number in range(count)]


def hot_rules(count: int) -> int:
    """Say how many of so many rules are about the hot account."""
    return min(HOT, max(1, count // 2))


def _hot_rule(number: int) -> Rule:
    if number % 2 == 0:
        return Rule((_account("hot"),))
    return Rule((_account("hot"), Within(("amount",), number, _ABOVE_ALL)))


def _account(name: str) -> Equal:
    return Equal(("account", "name"), name)


def _event(number: int, chance: random.Random) -> Event:
    is_hot = number % _EVERY == 0
    record = {
        "account": {
            "name": "hot" if is_hot else f"account-{chance.randrange(_ACCOUNTS)}",
            "tier": chance.randrange(5),
        },
        "amount": HOT_AMOUNT if is_hot else chance.randrange(1_000),
        "note": "".join(chance.choices("abcdefgh ", k=200)),
    }
    attributes = {
        "specversion": "1.0",
        "id": f"payment-{number}",
        "source": "/payments",
        "type": "com.example.payment",
        "datacontenttype": "application/json",
    }
    return Event(attributes, msgspec.json.encode(record))

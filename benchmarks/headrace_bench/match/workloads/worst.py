"""What no index helps with: a substring, a regular expression or `!=`, and nothing else in the filter.

Each of them is measured on a column with 20 different values and on one where every value differs.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from headrace.events.event import Event
from headrace_bench.match.rules import Containing, Fitting, Rule, Unequal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headrace_bench.match.rules import Condition, Field

_FEW, _LENGTH = 20, 40
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Worst:
    """Patterns of one kind, all different, on one column: `few` or `each`."""

    kind: str
    column: str
    sizes: tuple[int, ...] = (10, 100, 1_000, 3_000)

    @property
    def name(self) -> str:
        """The kind and the column, since the figures of two differ by orders of magnitude."""
        return f"worst-{self.kind}-{self.column}"

    def rules(self, count: int, seed: int) -> Iterator[Rule]:
        """Yield rules; a larger count begins with the rules of a smaller one."""
        chance = random.Random(f"{self.name} rules {seed}")
        seen: set[Condition] = set()
        while len(seen) < count:
            # A few values have only so many parts: some patterns come from values that never occur.
            value = _value(self.column, chance, seed) if chance.random() < 0.8 else _text(chance)
            condition = _KINDS[self.kind]((self.column,), value, chance)
            if condition not in seen:
                seen.add(condition)
                yield Rule((condition,))

    def events(self, count: int, seed: int) -> list[Event]:
        """Return events with both columns."""
        chance = random.Random(f"worst events {seed}")
        return [_event(number, chance, seed) for number in range(count)]


def _containing(field: Field, value: str, chance: random.Random) -> Condition:
    at, length = chance.randrange(_LENGTH - 8), chance.randint(3, 6)
    return Containing(field, value[at : at + length])


def _fitting(field: Field, value: str, chance: random.Random) -> Condition:
    at = chance.randrange(_LENGTH - 8)
    first, middle, last = value[at : at + 2], value[at + 2], value[at + 5 : at + 7]
    shape = chance.choice(["{0}[{1}x]..{2}", "{0}.*{2}", "^.{{{3}}}{0}{1}", "{0}(?:{1}|q)+"])
    return Fitting(field, shape.format(first, middle, last, at))


def _unequal(field: Field, value: str, chance: random.Random) -> Condition:
    return Unequal(field, value if chance.random() < 0.5 else _text(chance))


_KINDS: Mapping[str, Callable[[Field, str, random.Random], Condition]] = {
    "contains": _containing,
    "regex": _fitting,
    "unequal": _unequal,
}
WORST = tuple(Worst(kind, column) for kind in _KINDS for column in ("few", "each"))


def _value(column: str, chance: random.Random, seed: int) -> str:
    if column == "each":
        return _text(chance)
    return _text(random.Random(f"worst few {seed} {chance.randrange(_FEW)}"))


def _text(chance: random.Random) -> str:
    return "".join(chance.choices(_LETTERS, k=_LENGTH))


def _event(number: int, chance: random.Random, seed: int) -> Event:
    record = {column: _value(column, chance, seed) for column in ("few", "each")}
    attributes = {
        "specversion": "1.0",
        "id": f"note-{number}",
        "source": "/notes",
        "type": "com.example.note",
        "datacontenttype": "application/json",
    }
    return Event(attributes, msgspec.json.encode(record))

"""City lots: records of about 900 bytes, and rules with values that occur in them.

The records have the fields and the cardinalities of San Francisco's payloads: about 200,000 lots in 5,000 blocks, lot
numbers up to 300, 1,700 streets, a dozen street types, and a polygon that no rule mentions. Of the rules 70 % are two
equalities, 20 % an equality and a prefix, 10 % a range of numbers. One of the two fields is always a selective one:
were both allowed to have a dozen values, a rule would be wanted by a tenth of all events. At 100,000 rules that makes
about 15 matches per event.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from headrace.events.event import Event
from headrace_bench.match.rules import Equal, Prefix, Rule, Within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_BLOCKS, _STREETS, _MEAN_LOTS, _MOST_LOTS, _POINTS = 5_000, 1_700, 40, 300, 11
_TYPES = (
    ("ST",) * 20
    + ("AVE",) * 10
    + ("WAY", "WAY", "DR", "DR", "BLVD", "CT", "TER", "LN", "PL", "RD", "CIR", "ALY")
)
_SYLLABLES = (
    "AL",
    "BAY",
    "COR",
    "DEL",
    "EL",
    "FOL",
    "GEA",
    "HAR",
    "IR",
    "JUD",
    "KIR",
    "LAG",
    "MIS",
    "NOR",
    "OAK",
)
_ENDINGS = ("VALE", "TON", "WOOD", "MONT", "LAND", "RAY", "SOM", "ADA", "ING", "ERO", "STER")
_ZONES = tuple(f"{kind}-{number}" for kind in ("RH", "RM", "NC", "C", "M", "P") for number in range(1, 11))


class _Lot(NamedTuple):
    """A lot as numbers; its texts are made when they are asked for."""

    block: int
    lot: int
    street: int
    number: int
    zone: int
    year: int
    area: int
    value: float


@cache
def _street(number: int) -> str:
    first, rest = divmod(number, len(_SYLLABLES) * len(_ENDINGS))
    second, third = divmod(rest, len(_ENDINGS))
    return f"{_SYLLABLES[second]}{_SYLLABLES[first]}{_ENDINGS[third]}"


_TEXTS: Mapping[str, Callable[[_Lot], str]] = {
    "MAPBLKLOT": lambda lot: f"{lot.block:04}{lot.lot // 2 * 2:03}",
    "BLKLOT": lambda lot: f"{lot.block:04}{lot.lot:03}",
    "BLOCK_NUM": lambda lot: f"{lot.block:04}",
    "LOT_NUM": lambda lot: f"{lot.lot:03}",
    "FROM_ST": lambda lot: str(lot.number),
    "TO_ST": lambda lot: str(lot.number + lot.year % 3 * 2),
    "STREET": lambda lot: _street(lot.street),
    "ST_TYPE": lambda lot: _TYPES[lot.street % len(_TYPES)],
    "ODD_EVEN": lambda lot: "EO"[lot.number % 2],
    "ZIP_CODE": lambda lot: str(94102 + lot.block // 193),
    "DISTRICT": lambda lot: f"District {lot.block // 455 + 1}",
    "NEIGHBORHOOD": lambda lot: f"{_ENDINGS[lot.block // 122 % 11].title()} Hill {lot.block // 122}",
    "ZONING": lambda lot: _ZONES[lot.zone],
}
_NUMBERS: Mapping[str, Callable[[_Lot], float]] = {
    "YEAR_BUILT": lambda lot: lot.year,
    "AREA": lambda lot: lot.area,
    "VALUE": lambda lot: lot.value,
}
FIELDS = (*_TEXTS, *_NUMBERS)

_SELECTIVE = ("MAPBLKLOT", "BLKLOT", "BLOCK_NUM", "LOT_NUM", "FROM_ST", "TO_ST", "STREET")
_FIRST = (*_SELECTIVE, *(name for name in _SELECTIVE if name != "LOT_NUM"))
"""The first of two fields: the least selective of them is half as frequent as the others."""
_PREFIXES = {"MAPBLKLOT": (2, 5), "BLKLOT": (2, 6), "FROM_ST": (2, 4), "STREET": (3, 6)}
"""Fields that are asked for a prefix, and how long that is at least and at most."""
_WIDTHS = {"AREA": (1, 2), "VALUE": (100, 1_000)}
"""Fields that are asked for a range, and how wide that is at least and at most."""


@dataclass(frozen=True, slots=True)
class CityLots:
    """Rules with many different values on records of which most fields are never asked for."""

    name: str = "citylots"
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)

    def rules(self, count: int, seed: int) -> Iterator[Rule]:
        """Yield rules; a larger count begins with the rules of a smaller one."""
        chance = random.Random(f"citylots rules {seed}")
        lots = _lots(seed)
        for _ in range(count):
            yield _rule(lots[int(chance.random() * len(lots))], chance)

    def events(self, count: int, seed: int) -> list[Event]:
        """Return events about lots, some of them about the same one."""
        chance = random.Random(f"citylots events {seed}")
        return [_event(number, chance.choice(_lots(seed)), chance) for number in range(count)]


@cache
def _lots(seed: int) -> list[_Lot]:
    chance = random.Random(f"citylots {seed}")
    lots = []
    for block in range(_BLOCKS):
        streets = [int(_STREETS * chance.random() ** 1.3) for _ in range(4)]
        first = chance.randrange(40) * 100
        size = min(_MOST_LOTS, 1 + int(chance.expovariate(1 / _MEAN_LOTS)))
        lots += [_lot(block, lot, streets[lot % 4], first + lot * 2, chance) for lot in range(1, size + 1)]
    return lots


def _lot(block: int, lot: int, street: int, number: int, chance: random.Random) -> _Lot:
    area = 800 + int(chance.expovariate(1 / 2_500))
    return _Lot(
        block,
        lot,
        street,
        number + (chance.random() < 0.5),
        int(60 * chance.random() ** 2),
        1880 + int(chance.random() * 136),
        area,
        round(area * (100 + 900 * chance.random()), 2),
    )


def _rule(lot: _Lot, chance: random.Random) -> Rule:
    share = chance.random()
    if share < 0.7:
        return Rule(_two_equalities(lot, chance))
    if share < 0.9:
        return Rule(_equality_and_prefix(lot, chance))
    return Rule((_range(lot, chance),))


def _two_equalities(lot: _Lot, chance: random.Random) -> tuple[Equal, Equal]:
    first = chance.choice(_FIRST)
    second = chance.choice([each for each in _TEXTS if each != first])
    return _equal(first, lot), _equal(second, lot)


def _equality_and_prefix(lot: _Lot, chance: random.Random) -> tuple[Equal, Prefix]:
    prefixed = chance.choice(tuple(_PREFIXES))
    length = chance.randint(*_PREFIXES[prefixed])
    other = chance.choice([each for each in _SELECTIVE if each != prefixed])
    return _equal(other, lot), Prefix(("properties", prefixed), _TEXTS[prefixed](lot)[:length])


def _range(lot: _Lot, chance: random.Random) -> Within:
    name = chance.choice(tuple(_WIDTHS))
    low = int(_NUMBERS[name](lot)) - chance.randrange(2)
    return Within(("properties", name), low, low + chance.randint(*_WIDTHS[name]))


def _equal(name: str, lot: _Lot) -> Equal:
    return Equal(("properties", name), _TEXTS[name](lot))


def _event(number: int, lot: _Lot, chance: random.Random) -> Event:
    x, y = -122.5 + chance.random() / 10, 37.7 + chance.random() / 10
    corners = [[x + chance.random() / 1_000, y + chance.random() / 1_000, 0.0] for _ in range(_POINTS)]
    record = {
        "type": "Feature",
        "properties": {name: read(lot) for name, read in (*_TEXTS.items(), *_NUMBERS.items())},
        "geometry": {"type": "Polygon", "coordinates": [[*corners, corners[0]]]},
    }
    attributes = {
        "specversion": "1.0",
        "id": f"lot-{number}",
        "source": f"/assessor/{lot.block // 455 + 1}",
        "type": "com.example.lot.changed",
        "time": "2026-01-01T00:00:00Z",
        "datacontenttype": "application/json",
    }
    return Event(attributes, msgspec.json.encode(record))

"""Generators of CESQL expressions, with every operator and function, and of events that they meet often.

Each grows from Python's own generator, which is a hundred times faster than a recursive strategy.
"""

from random import Random
from typing import Any

from tests.filters.cel_texts import Grower

from headrace.events.event import Event
from headrace.events.recorded import Arrival, Recorded
from headrace.filters.cesql.functions import FUNCTIONS

NAMES = ["type", "source", "subject", "x", "y", "x", "y", "1st", "null", "count", "urgent"]
STRINGS = ["", "a", "A", "ab", "aB", " a ", "1", "+1", "-1", "007", "42", "2147483648", "true", "TRUE", "False", "é",
           "ß", "a%b", "a_b", "\u2003a", "1.0"]  # fmt: skip
NUMBERS = [0, 1, 2, 3, -1, -2, 7, 42, 2**31 - 1, -(2**31)]
PATTERNS = ["%", "a%", "%b", "%a%", "a", "_", "a_", "_%", "%a_%b", "1%", r"a\%b", "A_", "%é", ""]
ODD = [1.0, 0.5, 2**31, -(2**40), 2**63 - 1, None, [], ["a"], {}, {"a": "b"}]
VALUES: list[list[Any]] = [STRINGS, STRINGS, NUMBERS, [True, False], ODD]
ARITIES = {
    name: (1, 2, 3) if function.separate is not None else function.arities
    for name, function in FUNCTIONS.items()
}


class CesqlGrower:
    """Grows texts that mostly are true of some events and false of others."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def literal(self) -> str:
        pick = self.random.choice
        return pick([repr(pick(STRINGS)), repr(pick(STRINGS)), str(pick(NUMBERS)), pick(["TRUE", "FALSE"])])

    def value(self, depth: int) -> str:
        pick = self.random.choice
        if depth == 0 or self.random.random() < 0.3:
            return pick([pick(NAMES), pick(NAMES), self.literal()])
        if self.random.random() < 0.1:
            return f"({self.condition(depth - 1)})"
        inner = [self.value(depth - 1) for _ in range(3)]
        name = pick(list(FUNCTIONS))
        return pick(
            [
                f"{name}({', '.join(inner[: pick(ARITIES[name])])})",
                f"{name}({', '.join(inner[: pick(ARITIES[name])])})",
                f"({inner[0]} {pick('+-*/%')} {inner[1]})",
                f"(- {inner[0]})",
            ]
        )

    def clause(self, depth: int) -> str:
        pick = self.random.choice
        one, two, three = (self.value(depth) for _ in range(3))
        maybe_not = pick(["", "", "NOT "])
        return pick(
            [
                f"{one} {pick(['=', '!=', '<>', '<', '<=', '>', '>='])} {two}",
                f"{pick(NAMES)} {pick(['=', '!=', '<', '>='])} {self.literal()}",
                f"{one} {maybe_not}IN ({two}, {three})",
                f"{pick(NAMES)} {maybe_not}IN ({self.literal()}, {self.literal()})",
                f"{one} {maybe_not}LIKE '{pick(PATTERNS)}'",
                f"EXISTS {pick(NAMES)}",
                one,
            ]
        )

    def condition(self, depth: int) -> str:
        pick = self.random.choice
        if depth == 0 or self.random.random() < 0.4:
            return self.clause(min(depth, pick([0, 1, 1, 2])))
        parts = [f"({self.condition(depth - 1)})" for _ in range(3)]
        joined = f" {pick(['AND', 'OR', 'XOR'])} ".join(parts[: pick([2, 2, 3])])
        return pick([joined, joined, joined, f"NOT {parts[0]}"])

    def event(self) -> Event | Recorded:
        pick, chance = self.random.choice, self.random.random
        attributes: dict[str, Any] = {name: pick(STRINGS) or "a" for name in ("id", "source", "type")}
        attributes |= {"specversion": pick(["1.0", "0.3"])}
        attributes |= {"subject": pick(STRINGS)} if chance() < 0.7 else {}
        for name in ("x", "y", "1st", "null", "count", "urgent", "in"):
            if chance() < 0.7:
                attributes[name] = pick(pick(VALUES))
        data = pick([None, Grower(self.random.getrandbits(64)).event()])
        event = Event(attributes=attributes, data=data.data if isinstance(data, Event) else None)
        return event if chance() < 0.5 else Recorded(7, 1_577_836_800_000_000, Arrival(event, "a", "b"))

"""Generators of CEL expressions and of events with data that they meet often.

Each grows from a seed by Python's own generator, which is a hundred times faster than a recursive strategy.
"""

import json
from random import Random
from typing import Any

from hypothesis import strategies as st

from headrace.errors import FilterError
from headrace.events.event import Event
from headrace.events.recorded import Arrival, Recorded
from headrace.filters import Filter, compile_filter

seeds = st.integers(0, 2**64)

STRINGS = [
    '""',
    '"a"',
    '"ab"',
    '"b"',
    '"42"',
    '"é"',
    '"true"',
    '"2020-01-01T00:00:00Z"',
    '"1s"',
    '"1.5"',
    '"t"',
]
NUMBERS = ["0", "1", "-1", "2", "42", "1u", "2u", "0.0", "1.5", "2.0", "-1.0", "1e19", "9223372036854775807",
           "-9223372036854775808", "9007199254740993", "9007199254740992.0", "18446744073709551615u"]  # fmt: skip
OTHERS = ["true", "false", "null", 'b"a"', "[]", "[1, 2]", '["a", "b"]', "{}", '{"a": 1}']
VARIABLES = ["data", "ce", "collection", "tenant", "type", "publishTime", "eventTime", "data.a", "data.b", "data.s",
             "data.l", "data.m", "data.m.a", "data.m.l", 'data["é"]', 'data["in"]', "ce.subject", "ce.count", "ce.type",
             "ce.time", 'ce["in"]', "ce.nested.a", "data.l[0]", "data.m[data.s]"]  # fmt: skip
FUNCTIONS = [
    "size",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "bool",
    "timestamp",
    "duration",
    "dyn",
    "type",
]
TIME_FIELDS = ["getHours()", "getSeconds()", "getMilliseconds()", "getFullYear()", 'getMonth("+02:00")']
LISTS = ["filter(v, v == 1)", "map(v, v)", "map(v, v != 2, [v])"]
PRESENCE = ["has(data.a)", "has(data.m.a)", "has(data.l.a)", "has(data.`a b`)", "has(data.`in`)", "has(ce.subject)",
            '"in" in ce', '"a" in data', '"a" in data.l', "has(ce.nested.a)", "has(data.m[data.s].a)", "true",
            "false"]  # fmt: skip
COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]
QUESTIONS = ["startsWith", "endsWith", "contains", "matches", "match"]


class Grower:
    """Grows texts that mostly pass the checker: what it might refuse is made dynamic."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def literal(self) -> str:
        return self.random.choice(self.random.choice([STRINGS, NUMBERS, OTHERS]))

    def value(self, depth: int, names: tuple[str, ...] = ()) -> str:
        pick = self.random.choice
        if depth == 0 or self.random.random() < 0.4:
            name = pick(names) if names and self.random.random() < 0.7 else pick(VARIABLES)
            return pick([name, name, f"dyn({name}).a", self.literal(), f"dyn({self.literal()})"])
        value = [self.value(depth - 1, names) for _ in range(3)]
        return pick(
            [
                f"(dyn({value[0]}) {pick('+-*/%')} dyn({value[1]}))",
                f"{pick(FUNCTIONS)}(dyn({value[0]}))",
                f"dyn({value[0]})[dyn({value[1]})]",
                f"(dyn({value[0]}) ? dyn({value[1]}) : dyn({value[2]}))",
                f"[dyn({value[0]}), dyn({value[1]})]",
                f"{{dyn({value[0]}): dyn({value[1]})}}",
                f"-dyn({value[0]})",
                f"dyn({value[0]}).a",
                f"dyn({value[0]}).{pick(LISTS)}",
                f"dyn({value[0]}).{pick(TIME_FIELDS)}",
            ]
        )

    def clause(self, depth: int, names: tuple[str, ...]) -> str:
        pick = self.random.choice
        left, right = self.value(depth, names), self.value(depth, names)
        return pick(
            [
                f"{left} {pick([*COMPARISONS, 'in'])} {right}",
                f"dyn({left}) {pick(COMPARISONS)} dyn({right})",
                f"{pick(VARIABLES)} {pick(COMPARISONS)} {self.literal()}",
                f"{self.literal()} {pick([*COMPARISONS, 'in'])} {pick(VARIABLES)}",
                f"{left} in [{self.literal()}, {self.literal()}]",
                f"dyn({left}).{pick(QUESTIONS)}({pick(STRINGS)})",
                f"{pick(VARIABLES)}.{pick(QUESTIONS)}({pick(STRINGS)})",
                pick(PRESENCE),
                left,
            ]
        )

    def condition(self, depth: int, names: tuple[str, ...] = ()) -> str:
        pick = self.random.choice
        if depth == 0 or self.random.random() < 0.3:
            return self.clause(pick([0, 0, 1, 2]), names)
        part = [self.condition(depth - 1, names) for _ in range(3)]
        variable = "xyz"[len(names)] if len(names) < 2 else ""
        body = self.condition(depth - 1, (*names, variable)) if variable else part[1]
        over = pick(["data.l", "data.l", f"dyn({self.value(1, names)})"])
        return pick(
            [
                f"!({part[0]})",
                f"({part[0]}) && ({part[1]})",
                f"({part[0]}) || ({part[1]})",
                f"dyn({part[0]}) ? dyn({part[1]}) : dyn({part[2]})",
                f"{over}.{pick(['all', 'exists', 'exists_one'])}({variable or 'w'}, {body})",
            ]
        )

    def json(self, depth: int) -> Any:
        pick = self.random.choice
        if depth == 0 or self.random.random() < 0.4:
            return pick(SCALARS)
        if self.random.random() < 0.3:
            return [self.json(depth - 1) for _ in range(pick(range(4)))]
        return {pick(KEYS): self.json(depth - 1) for _ in range(pick(range(6)))}

    def event(self) -> Event | Recorded:
        pick = self.random.choice
        attributes: dict[str, Any] = {
            "specversion": "1.0",
            "id": "1",
            "source": "/s",
            "type": pick(["t", "a"]),
        }
        attributes |= {name: pick(values) for name, values in OPTIONAL.items() if self.random.random() < 0.5}
        document = {key: self.json(2) for key in KEYS if self.random.random() < 0.6}
        if self.random.random() < 0.6:
            document["l"] = [pick(ELEMENTS) for _ in range(pick(range(4)))]
        data = pick([json.dumps(document), json.dumps(document), json.dumps(self.json(2)), "", "{", None])
        event = Event(attributes=attributes, data=None if data is None else data.encode())
        if self.random.random() < 0.5:
            return event
        return Recorded(7, 1_577_836_800_000_000, Arrival(event, "a", "b"))


KEYS = ("a", "b", "s", "l", "m", "é", "in", "a b")
SCALARS = [None, True, False, 0, 1, -1, 2, 42, 2**63 - 1, 2**63, 2**70, -(2**63), 9007199254740993, 1.5, 1.0, -0.0,
           "", "a", "ab", "b", "42", "é", "true", "2020-01-01T00:00:00Z", "1s", "1.5", "x\ny"]  # fmt: skip
ELEMENTS = [1, 1, 2, 2.0, "a", True, False, {"a": 1}, {"a": True}, {"a": False}]
OPTIONAL: dict[str, list[Any]] = {
    "subject": ["", "a", "ab"],
    "count": [0, 1, 42, True, "42"],
    "in": ["a"],
    "nested": [{"a": 1}, {}, [1]],
    "time": ["2020-01-01T00:00:00Z", "1970-01-01T00:00:00.0015Z", "x"],
    "datacontenttype": ["application/json", "application/json", "text/plain", "application/x+json; a=b"],
}


def compiled(seed: int) -> Filter | None:
    try:
        return compile_filter({"cel": Grower(seed).condition(3)})
    except FilterError:
        return None


cel_filters = seeds.map(compiled).filter(lambda each: each is not None)
cel_texts = seeds.map(lambda seed: Grower(seed).condition(3))
data_events = seeds.map(lambda seed: Grower(seed).event())

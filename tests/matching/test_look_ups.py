"""Checks by look-up in pairs, on several fields and channels: each pair is one look at a list and one at a key."""

import json
import random
from itertools import combinations

import pytest

from headrace.events.batch import to_batch
from headrace.events.event import Event
from headrace.events.recorded import Arrival, Recorded
from headrace.filters.filter import Filter
from headrace.filters.ir import atoms
from headrace.filters.ir.expression import And, Or
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path
from headrace.matching import Matcher, Scope

CHANNELS = [("n", "one"), ("n", "two"), ("m", "one")]
FIELDS = ["a", "b", "c", "d"]
WORDS = ["x", "xy", "xyz", "yx", "zzyx", "x" * 17, "é" * 9, "é" * 9 + "x", ""]
VALUES = [
    *map(json.dumps, WORDS),
    '"\\u0078y"',
    "1",
    "1.0",
    "2.5",
    "null",
    "true",
    "[]",
    '["x", "xy", "x"]',
    '{"x": 1}',
]


def document(chance):
    pairs = [f'"{name}": {chance.choice(VALUES)}' for name in FIELDS if chance.random() < 0.9]
    if chance.random() < 0.1:
        pairs.append(f'"a": {chance.choice(VALUES)}')  # a key that stands twice
    return "{" + ", ".join(pairs) + "}"


def clause(chance, name):
    path = Path(("data", name))
    word = chance.choice(WORDS)
    number = chance.choice([1, 2.5, 3])
    return chance.choice(
        [
            atoms.Comparison(path, atoms.Operator.EQUAL, Literal(word)),
            atoms.Comparison(path, atoms.Operator.EQUAL, Literal(chance.choice([number, None, True, b"x"]))),
            atoms.StartsWith(path, word),
            atoms.EndsWith(path, word),
            atoms.OneOf(path, (Literal(word), Literal(number))),
            atoms.Comparison(path, atoms.Operator.LESS_OR_EQUAL, Literal(number)),
            atoms.Comparison(path, atoms.Operator.GREATER, Literal(word)),
            atoms.Includes(path, Literal(word)),
            atoms.Contains(path, word or "x"),
        ]
    )


def tree(chance):
    both = And(tuple(clause(chance, name) for name in chance.choice(list(combinations(FIELDS, 2)))))
    match chance.randrange(4):
        case 0:
            return And((*both.parts, clause(chance, chance.choice(FIELDS))))
        case 1:
            return Or((both, clause(chance, "d")))
        case _:
            return both


@pytest.mark.parametrize("seed", range(4))
def test_pairs_of_checks_in_several_channels(seed):
    chance = random.Random(seed)
    entries = [
        (str(number), Filter(tree(chance)), chance.choice([None, *(Scope(*each) for each in CHANNELS)]))
        for number in range(400)
    ]
    entries += [(f"again {name}", filter_, scope) for name, filter_, scope in entries[::7]]
    matcher = Matcher()
    matcher.add_many(entries)
    attributes = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
    arrivals = [
        Arrival(Event(attributes, document(chance).encode()), *chance.choice(CHANNELS)) for _ in range(150)
    ]
    recorded = [Recorded(position, 0, arrival) for position, arrival in enumerate(arrivals)]
    wanted = [
        [
            name
            for name, filter_, scope in entries
            if (scope is None or scope.admits(each)) and filter_.matches(each)
        ]
        for each in recorded
    ]
    assert sum(map(len, wanted)) > 500
    assert matcher.match_batch(to_batch(arrivals, 0, 0)) == wanted
    assert matcher.match_batch(recorded) == wanted
    assert [matcher.match(each) for each in recorded[:20]] == wanted[:20]

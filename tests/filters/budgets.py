"""Families of filters that could be made to cost any amount, each with data inside and data above the budget."""

import json
from dataclasses import dataclass
from typing import Any

from headrace.events.event import Event
from headrace.filters.values.budget import LONGEST_SCANNED, LOOPING_STEPS, LOOPS, STEPS

ATTRIBUTES = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
LONG = "ab" * (1 << 19)
SLOW = "a(?:[ab]?){240}c"


@dataclass(frozen=True)
class Family:
    """The filter is true of the data inside, and by Google's evaluator of that above if it had the time."""

    text: str
    inside: Any
    above: Any


def equal_lists(size):
    return {"a": [0] * size, "b": [0] * size}


def equal_maps(size):
    keys = {f"k{number}": number for number in range(size)}
    return {"a": keys, "b": keys}


FAMILIES = [
    # A plain text of any length, without macros.
    Family("data.s.contains('a')", {"s": "a" * LONGEST_SCANNED}, {"s": "a" * (LONGEST_SCANNED + 1)}),
    Family("data.s.contains('é')", {"s": "é" * LONGEST_SCANNED}, {"s": "é" * (LONGEST_SCANNED + 1)}),
    Family("string(data.s).contains('a')", {"s": "a" * 10}, {"s": LONG}),
    Family(f"!data.s.matches('{SLOW}')", {"s": "ab" * 40}, {"s": LONG}),
    Family("data.s.match('*a?????????')", {"s": "ab" * 20}, {"s": LONG}),
    Family("data.s.matches('^a')", {"s": "a" * 100}, {"s": LONG}),
    Family("'x' in data.l", {"l": ["y"] * 1000 + ["x"]}, {"l": ["y"] * 40_000 + ["x"]}),
    Family("7 in data.l", {"l": [1.5] * 15_999 + [7.0]}, {"l": [1] * 16_000 + [7]}),
    # Two values of the event.
    Family("data.a == data.b", equal_lists(STEPS), equal_lists(STEPS + 1)),
    Family("data.a == data.b", equal_maps(STEPS // 2), equal_maps(STEPS // 2 + 1)),
    Family(
        "data.a == data.b",
        {"a": [["x"] * 40] * 40, "b": [["x"] * 40] * 40},
        {"a": [["x"] * 50] * 50, "b": [["x"] * 50] * 50},
    ),
    Family("data.a in data.b", {"a": [1], "b": [[2], [1]]}, {"a": [1], "b": [[2]] * 2000 + [[1]]}),
    Family("data.s + data.s != ''", {"s": "a" * 1000}, {"s": LONG}),
    Family("size(data.l + data.l) > 0", {"l": [1] * 1000}, {"l": [1] * 20_000}),
    Family("(data.s + data.s + data.s).contains('ba')", {"s": "ab"}, {"s": "ab" * 50_000}),
    # Conversions.
    Family("int(data.s) == 1", {"s": "0" * 100 + "1"}, {"s": "0" * 10_000 + "1"}),
    Family("timestamp(data.s) > timestamp(0)", {"s": "2020-01-01T00:00:00.1Z"}, {"s": f"2020-01-01T00:00:00.{'1' * 9000}Z"}),
    Family("duration(data.s) > duration('1s')", {"s": "1s" * 100}, {"s": "1s" * 1000}),
    Family("size(bytes(data.s)) > 0", {"s": "ab"}, {"s": LONG}),
    # Macros.
    Family("data.l.all(x, true)", {"l": [1] * (LOOPS - 1)}, {"l": [1] * LOOPS}),
    Family("data.l.all(x, x > 0)", {"l": [1] * (LOOPING_STEPS // 4)}, {"l": [1] * (LOOPING_STEPS // 4 + 1)}),
    Family("data.l.all(x, !data.s.matches('(a|b)*c'))", {"l": [1] * 9, "s": "ab" * 9}, {"l": [1] * 9000, "s": LONG}),
    Family("data.l.all(x, data.s.contains('ab'))", {"l": [1] * 9, "s": "ab"}, {"l": [1] * 9, "s": LONG}),
    Family("data.l.all(x, data.s.startsWith(data.s))", {"l": [1] * 9, "s": "ab"}, {"l": [1] * 9, "s": LONG}),
    Family("data.l.all(x, x in data.l)", {"l": list(range(300))}, {"l": list(range(5000))}),
    Family("data.l.all(x, data.l == data.l)", {"l": [1] * 100}, {"l": [1] * 200}),
    Family("data.l.all(x, data.s + data.s > data.s)", {"l": [1] * 9, "s": "ab"}, {"l": [1] * 9, "s": LONG}),
    Family("size(data.l.map(x, data.l + data.l)) > 0", {"l": [1] * 100}, {"l": [1] * 2000}),
    Family("data.l.all(x, data.l.all(y, true))", {"l": [1] * 99}, {"l": [1] * 100}),
    Family("data.m.all(k, data.m.exists(j, true))", {"m": {"a": 1}}, {"m": {f"k{n}": n for n in range(9000)}}),
    Family(
        f"data.l.all(x, !(data.n in [{', '.join(map(str, range(1000)))}]))", {"l": [1] * 9, "n": -1}, {"l": [1] * 99, "n": -1}
    ),
    # Inside a macro, nothing that connectives look past.
    Family("data.l.all(x, x > 0 || data.s.contains('b'))", {"l": [0, 1], "s": "b"}, {"l": [0] * 20, "s": LONG}),
    Family("data.l.exists(x, data.s.contains('b') || true)", {"l": [0], "s": "b"}, {"l": [0], "s": LONG + LONG}),
]  # fmt: skip


def event_with(data):
    return Event(ATTRIBUTES, json.dumps(data).encode())

"""The filters that cost one event most: at the limits of filters, on events just within and far above the budget.

What a filter may cost is a promise to all other tenants, so these are the figures to look at after a change of
`Limits` or of the budget. Milliseconds of the processor for one filter on one event, the best of some rounds.
"""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.events.event import Event
from headrace.filters import compile_filter
from headrace.filters.backends.reference import evaluate
from headrace.filters.bounds.limits import DEFAULT_LIMITS
from headrace.filters.truth import UNKNOWN
from headrace.filters.values.budget import LONGEST_SCANNED, LOOPING_STEPS, STEPS
from headrace.filters.variables import variables_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ROUNDS = 3
_MEBIBYTE = 1 << 20
_SLOW_PATTERN = "a[ab]{40}c"
_PATTERN_SIZE = 50
_MACROS, _SCANS = DEFAULT_LIMITS.macros, DEFAULT_LIMITS.scans


def run() -> list[dict[str, Any]]:
    """Measure each of them, on other texts in every round: RE2 remembers how it went through a text."""
    rounds = [list(pairs(seed)) for seed in range(_ROUNDS)]
    return [_measured(list(same)) for same in zip(*rounds, strict=True)]


def _measured(same: list[tuple[str, dict[str, Any], Event]]) -> dict[str, Any]:
    name, spec, _ = same[0]
    expression = compile_filter(spec).expression
    best, truths = math.inf, set()
    for _, _, event in same:
        variables = variables_of(event)
        variables.get("data")  # reading it is no cost of a filter: all of them share it
        began = time.process_time()
        truths.add(evaluate(expression, variables))
        best = min(best, time.process_time() - began)
    (truth,) = truths
    answer = "unknown" if truth is UNKNOWN else str(truth).lower()
    return {"filter": name, "answer": answer, "ms": round(best * 1000, 1)}


@dataclass(frozen=True, slots=True)
class _Worst:
    """As many clauses as the limits allow, each as expensive on the data as the budget allows."""

    count: int
    clause: Callable[[int], str]
    data: dict[str, Any]

    @property
    def spec(self) -> dict[str, Any]:
        """The filter. It never matches, so that no clause is skipped."""
        return {"any": [{"cel": self.clause(number)} for number in range(self.count)]}


def pairs(seed: int = 0) -> Iterator[tuple[str, dict[str, Any], Event]]:
    """Yield the name, the filter and the event of each."""
    loops, scans = _loops(seed), _scans(seed)
    for name, worst in (loops | scans | _above(seed)).items():
        yield name, worst.spec, _event(worst.data)
    both = loops["macros: conditions"], scans["scans: equal lists"]
    spec = {"any": [worst.spec for worst in both]}
    yield "macros and scans", spec, _event(both[0].data | both[1].data)
    called = [{"sql": f"LOWER(subject) LIKE '%{'ab' * 9}{number}%c'"} for number in range(_SCANS)]
    yield "scans: functions of CESQL", {"any": called}, _event({}, {"subject": "aB" * (LONGEST_SCANNED // 6)})


def _loops(seed: int) -> dict[str, _Worst]:
    square = list(range(math.isqrt(LOOPING_STEPS // 4) - 4))
    texts = [_text(_PATTERN_SIZE + number, seed) for number in range(LOOPING_STEPS // 160)]
    return {
        "macros: conditions": _Worst(
            _MACROS,
            lambda number: f"data.items.exists(i, i.a > 6 && i.b == 'y' || i.b == 'x{number}')",
            {"items": [{"a": 6, "b": "y"}] * (LOOPING_STEPS // 15)},
        ),
        "macros: nested": _Worst(
            _MACROS // 2,
            lambda number: f"data.square.exists(i, data.square.exists(j, j == -1{number}))",
            {"square": square},
        ),
        "macros: regular expression": _Worst(
            _MACROS,
            lambda number: f"data.texts.exists(i, i.matches('{_SLOW_PATTERN}{number}'))",
            {"texts": texts},
        ),
    }


def _scans(seed: int) -> dict[str, _Worst]:
    equal = list(range(STEPS))
    return {
        "scans: contains": _Worst(
            _SCANS,
            lambda number: f"data.long.contains('{'ab' * (25 + number)}')",
            {"long": _text(LONGEST_SCANNED, seed)},
        ),
        "scans: regular expression": _Worst(
            _SCANS,
            lambda number: f"data.text.matches('{_SLOW_PATTERN}{number}')",
            {"text": _text(STEPS * 50 // _PATTERN_SIZE, seed)},
        ),
        "scans: membership": _Worst(
            _SCANS, lambda number: f"-{number + 1} in data.many", {"many": [0] * STEPS * 8}
        ),
        "scans: equal lists": _Worst(
            _SCANS,
            lambda number: f"data.left != data.right && {number} >= 0",
            {"left": equal, "right": equal},
        ),
    }


def _above(seed: int) -> dict[str, _Worst]:
    return {
        "above: macros over a long text": _Worst(
            _MACROS,
            lambda number: f"data.few.exists(i, data.long.matches('{_SLOW_PATTERN}{number}'))",
            {"few": list(range(9000)), "long": _text(_MEBIBYTE, seed)},
        ),
        "above: a long text": _Worst(
            _SCANS,
            lambda number: f"data.long.matches('{_SLOW_PATTERN}{number}')",
            {"long": _text(_MEBIBYTE, seed)},
        ),
        "above: long lists": _Worst(
            _SCANS,
            lambda number: f"data.left != data.right && {number} >= 0",
            {"left": [0] * (_MEBIBYTE // 4), "right": [0] * (_MEBIBYTE // 4)},
        ),
    }


def _text(length: int, seed: int) -> str:
    chance = random.Random(seed * _MEBIBYTE + length)
    return "".join(chance.choices("ab", k=length))


def _event(data: dict[str, Any], more: dict[str, str] | None = None) -> Event:
    attributes = {"specversion": "1.0", "id": "1", "source": "/worst", "type": "worst"}
    return Event(attributes | (more or {}), msgspec.json.encode(data))

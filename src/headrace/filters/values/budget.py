"""The budget of one clause on one event. The cost depends on these two alone, never on the clock or on other clauses.

Clauses are separated by `&&`, `||`, `!` and `?:`. Costs are counted in steps of about a microsecond, by the sizes of
the values, before the work is done. Equality with constants, prefixes, suffixes and presence are free: they take the
same time on every event.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.filters.ir.atoms import Comparison, Has, Includes, Matches, MatchesGlob, OneOf, StringTest
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path, Text
from headrace.filters.ir.parts import nodes_of
from headrace.filters.ir.terms import Call, Macro
from headrace.filters.values.cesql.functions import FUNCTIONS as CESQL_FUNCTIONS
from headrace.filters.values.faults import Fault
from headrace.filters.values.kinds import Kind, kind_of
from headrace.filters.values.like import tries_of
from headrace.filters.values.patterns import is_prefix, size_of, translate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.filters.ir.expression import Expression

LOOPS = 10_000
"""How many rounds the macros of a clause may loop on one event: as many as in Google's evaluator."""

STEPS = 2_000
"""The budget of a clause without macros; several times as much if its patterns are large."""

LOOPING_STEPS = 20_000
"""The budget of a clause with macros: 5,000 rounds that compare an element with a constant."""

SCANNED = 64
"""Characters of a text searched in one step."""

LONGEST_SCANNED = STEPS * SCANNED
"""Characters of a text that `contains` may search; for a longer one it is unknown."""

_COPIED = 256
_CONVERTED = 4
_ELEMENTS = 16
_SOUGHT = 8
_MATCHED = 50
SEARCHED = _COPIED // _SOUGHT
"""The weight of a list element when compared with a scalar, in addition to the characters of a text."""

MOST_SEARCHED = STEPS * _COPIED
"""The weight that all elements of a list may have; in a heavier list membership of a scalar is unknown."""

_PATTERN = 250
_CONVERSION = 4
_ZONE = 100
_PATH = 4


class BudgetSpent(Exception):
    """Ends the clause. Not a `Fault`, so that no connective inside the clause can absorb it."""


class OverBudget(Fault):
    """The clause exceeds its budget on this event, so it is unknown."""


@dataclass(slots=True)
class Budget:
    """The budget of one evaluation of one clause."""

    clause: Expression
    loops: int = 0
    spent: int = 0
    most: int = STEPS

    def spend(self, steps: int) -> None:
        """Count steps before they are done, or raise `BudgetSpent`."""
        self.spent += steps
        if self.spent > self.most:
            self.most = _allowance(self.clause)
            if self.spent > self.most:
                raise BudgetSpent(f"it costs more than the budget of {self.most} steps")

    def loop(self, weight: int) -> None:
        """Count one round of a macro."""
        self.loops += 1
        if self.loops >= LOOPS:
            raise BudgetSpent(f"it loops {LOOPS} times or more, beyond its budget")
        self.spend(weight)


def longest_matched(clause: Matches | MatchesGlob) -> int:
    """Return how many bytes of a text the pattern may search; for a longer one the clause is unknown."""
    size = _size_of_pattern(clause)
    return STEPS * scans_in(clause) * _MATCHED // size if size else sys.maxsize


def _allowance(clause: Expression) -> int:
    if any(isinstance(node, Macro) for node in nodes_of(clause)):
        return LOOPING_STEPS
    return STEPS * scans_in(clause)


def scans_in(clause: Expression) -> int:
    """Return how many scans a clause counts as: one, and more for large patterns."""
    return 1 + sum(_size_of_pattern(node) // _PATTERN for node in nodes_of(clause))


def _size_of_pattern(node: Expression) -> int:
    match node:
        case Matches(_, pattern) | Call("matches", (_, Literal(str() as pattern))):
            return size_of(pattern)
        case MatchesGlob(_, glob) | Call("match", (_, Literal(str() as glob))):
            return 0 if is_prefix(glob) else size_of(translate(glob))
        case _:
            return 0


def weight_of(macro: Macro) -> int:
    """Return the cost of one round: a step, and one for each node of the bodies, evaluated or not."""
    return 1 + sum(_weight(node) for body in macro.bodies for node in nodes_of(body))


def _weight(node: Expression) -> int:
    match node:
        case Path(steps) | Has(Path(steps)):
            return 1 + len(steps) // _PATH
        case Text(path):
            return _weight(path) + _CONVERSION
        case OneOf(operand, literals):
            return 1 + _weight(operand) + len(literals)
        case Comparison() | Includes() | StringTest():
            return 1 + _weight(node.operand)
        case _:
            return 1


def cost_of_call(function: str, arguments: Sequence[Any]) -> int:
    """Return the cost of a call, apart from its node."""
    cost = _CALLS.get(function)
    return _cost_of_time(*arguments) if cost is None else cost(*arguments)


def cost_of_sum(left: Any, right: Any) -> int:
    """Return the cost of `left + right`, which copies texts and lists."""
    return _cost_of_copy(left) + _cost_of_copy(right)


def cost_of_search(value: Any, elements: Any) -> int:
    """Return the cost of a scalar's search in a list. Elements of a text's length are compared to their end."""
    length = len(value) if isinstance(value, str) else 0
    return _parts(len(elements) * (SEARCHED + length), _COPIED)


def cost_of_elements(elements: Any) -> int:
    """Return the cost of a loop over a list, apart from the comparisons."""
    return len(elements)


def cost_of_equality(left: Any, right: Any) -> int:
    """Return the cost of comparing two values of one type, apart from their elements."""
    if isinstance(left, str | bytes):
        return len(left) // _COPIED if len(left) == len(right) else 0
    if isinstance(left, list | tuple):
        return len(left) if len(left) == len(right) else 0
    if kind_of(left) is Kind.MAP:
        return 2 * len(left) if len(left) == len(right) else 0
    return 0


def cost_of_order(left: Any, right: Any) -> int:
    """Return the cost of ordering two values."""
    return min(_cost_of_copy(left), _cost_of_copy(right))


def _cost_of_copy(value: Any) -> int:
    if isinstance(value, str | bytes):
        return _parts(len(value), _COPIED)
    return _parts(len(value), _ELEMENTS) if isinstance(value, list | tuple) else 0


def _parts(length: int, size: int) -> int:
    return -(-length // size)


def _per(size: int) -> Callable[[Any], int]:
    return lambda value: _CONVERSION + (_parts(len(value), size) if isinstance(value, str | bytes) else 0)


def _cost_of_time(*arguments: Any) -> int:
    # An unknown time zone is looked for in the files of the system.
    return _CONVERSION + (_ZONE if len(arguments) > 1 else 0)


def _cost_of_contains(text: Any, other: Any) -> int:
    # Searching for a long text in a short one costs as well: the search preprocesses it.
    return _parts(max(len(text), len(other)), SCANNED) if _are_texts(text, other) else 0


def _cost_of_beginning(text: Any, other: Any) -> int:
    return _parts(len(other), _COPIED) if _are_texts(text, other) and len(other) <= len(text) else 0


def _cost_of_matches(text: Any, pattern: Any) -> int:
    return _parts(_bytes(text) * size_of(pattern), _MATCHED) if _are_texts(text, pattern) else 0


def _cost_of_match(text: Any, glob: Any) -> int:
    if not _are_texts(text, glob) or is_prefix(glob):
        return 0
    return _cost_of_matches(text, translate(glob))


def _cost_of_reading(*arguments: Any) -> int:
    return sum(
        _parts(len(value), SCANNED) if isinstance(value, str) else _cost_of_reading(*value)
        for value in arguments
        if isinstance(value, str | list)
    )


def _cost_of_like(text: Any, pattern: str) -> int:
    # A part of the pattern with a wildcard is tried at every position of the text.
    return _parts(len(text) * tries_of(pattern), SCANNED) if isinstance(text, str) else 0


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _are_texts(text: Any, other: Any) -> bool:
    return isinstance(text, str) and isinstance(other, str)


_CALLS: Mapping[str, Callable[..., int]] = {
    "contains": _cost_of_contains,
    "startsWith": _cost_of_beginning,
    "endsWith": _cost_of_beginning,
    "matches": _cost_of_matches,
    "match": _cost_of_match,
    **dict.fromkeys(("int", "uint", "double", "timestamp"), _per(_CONVERTED)),
    **dict.fromkeys(("string", "bytes"), _per(_ELEMENTS)),
    "duration": lambda value: _CONVERSION + (2 * len(value) if isinstance(value, str) else 0),
    **dict.fromkeys(("size", "type", "dyn", "bool"), lambda _: 0),
    **dict.fromkeys(CESQL_FUNCTIONS, _cost_of_reading),
    "sqlAttribute": lambda *_: 0,
    "sqlLike": _cost_of_like,
}

"""Evaluate one large filter, such as a union, quickly on single events: look up long lists of texts.

For many filters use the index.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

from headrace.filters.backends.reference import evaluate
from headrace.filters.ir.atoms import Comparison, OneOf, StartsWith
from headrace.filters.ir.expression import And, Expression, Or, all_of
from headrace.filters.ir.operands import Path
from headrace.filters.rewrites.flatten import flatten
from headrace.filters.rewrites.negate import push_negations
from headrace.filters.upstream.covers import literals_of
from headrace.filters.values.faults import Fault
from headrace.filters.values.paths import follow
from headrace.filters.variables import variables_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.events.event import Event
    from headrace.events.recorded import Recorded
    from headrace.filters.filter import Filter
    from headrace.filters.variables import Variables

    Test: TypeAlias = Callable[[Variables], bool]


class Sieve:
    """Matches as `Filter.matches` does, but may also match where that exceeds its budget. Immutable."""

    def __init__(self, filter_: Filter) -> None:
        # In negation normal form two values are enough: unknown counts as false.
        self._test = _test_of(flatten(push_negations(filter_.expression)))

    def matches(self, event: Event | Recorded) -> bool:
        """Return whether the filter matches the event."""
        return self._test(variables_of(event))


def _test_of(expression: Expression) -> Test:
    match expression:
        case Or(parts):
            return _any_of(parts)
        case And(parts):
            tests = tuple(map(_test_of, parts))
            return lambda variables: all(test(variables) for test in tests)
        case _ if _texts_of(expression):
            return _any_of((expression,))
        case _:
            return lambda variables: evaluate(expression, variables) is True


def _any_of(parts: Iterable[Expression]) -> Test:
    tables: dict[Path, dict[str, list[Test]]] = defaultdict(lambda: defaultdict(list))
    starts: dict[Path, list[str]] = defaultdict(list)
    tests: list[Test] = []
    for part in parts:
        conjunction = part.parts if isinstance(part, And) else (part,)
        key = next((each for each in conjunction if _texts_of(each)), None)
        if isinstance(key, Comparison | OneOf) and isinstance(key.operand, Path):
            rest = _test_of(all_of(tuple(each for each in conjunction if each is not key)))
            for text in _texts_of(key):
                tables[key.operand][text].append(rest)
        elif isinstance(part, StartsWith) and isinstance(part.operand, Path):
            starts[part.operand].append(part.prefix)
        else:
            tests.append(_test_of(part))
    tests += [_look_up(path, table) for path, table in tables.items()]
    tests += [_begins(path, tuple(prefixes)) for path, prefixes in starts.items()]
    return lambda variables: any(test(variables) for test in tests)


def _texts_of(part: Expression) -> tuple[str, ...]:
    """Return the texts that a path is compared with; none if it is also compared with other values."""
    literals = literals_of(part)
    texts = tuple(each.value for each in literals if isinstance(each.value, str))
    is_alone = len(texts) == len(literals) and isinstance(getattr(part, "operand", None), Path)
    return texts if is_alone else ()


def _look_up(path: Path, table: dict[str, list[Test]]) -> Test:
    found = dict(table)

    def test(variables: Variables) -> bool:
        value = _text_at(path, variables)
        return value is not None and any(rest(variables) for rest in found.get(value, ()))

    return test


def _begins(path: Path, prefixes: tuple[str, ...]) -> Test:
    def test(variables: Variables) -> bool:
        value = _text_at(path, variables)
        return value is not None and value.startswith(prefixes)

    return test


def _text_at(path: Path, variables: Variables) -> str | None:
    try:
        value = follow(path.steps, variables)
    except Fault:
        return None
    return value if isinstance(value, str) else None

"""One filter for a source upstream: true wherever any of many filters is, so that it can drop the rest early."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.errors import FilterError
from headrace.filters.backends.cel import is_sayable, write_cel
from headrace.filters.ir.atoms import Comparison, Has, OneOf, Operator
from headrace.filters.ir.expression import Constant, all_of, any_of
from headrace.filters.ir.operands import Text
from headrace.filters.limits import DEFAULT_LIMITS
from headrace.filters.rewrites.deduplicate import deduplicate
from headrace.filters.rewrites.distribute import distribute
from headrace.filters.rewrites.flatten import flatten
from headrace.filters.rewrites.fold import fold
from headrace.filters.rewrites.negate import push_negations
from headrace.filters.sizes import check_size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.filters.filter import Filter
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.literals import Literal
    from headrace.filters.ir.operands import Operand, Path
    from headrace.filters.rewrites.distribute import Alternative

LONGEST = 10_000

_SPREAD = 16
"""Alternatives that one filter may become: more would cost more text than merging them with others saves."""


@dataclass(frozen=True, slots=True)
class Union:
    """True whenever any of the filters is. `widened`: also on events that none of them wants."""

    expression: Expression
    widened: bool

    @property
    def cel(self) -> str:
        """The canonical CEL text."""
        return write_cel(self.expression)


def union(filters: Iterable[Filter], *, longest: int = LONGEST) -> Union:
    """Join filters into one simplified expression: a filter itself, with at most `longest` characters of CEL.

    Where the exact one is larger it is widened step by step, never narrowed, in the end to `true`. Conditions that
    CEL can't say are left out, which widens it too.
    """
    expressions = dict.fromkeys(each.expression for each in filters)
    exact = [each for expression in expressions for each in _alternatives(expression)]
    sayable = [tuple(part for part in each if is_sayable(part)) for each in exact]
    weaker = [_weakest(each) for each in sayable]
    present = [_presence(each) for each in weaker]
    for widened, alternatives in ((sayable != exact, sayable), (True, weaker), (True, present)):
        expression = _joined(alternatives)
        if _fits(expression, longest):
            return Union(expression, widened)
    return Union(Constant(value=True), widened=True)


def _fits(expression: Expression, longest: int) -> bool:
    try:
        check_size(expression, replace(DEFAULT_LIMITS, expression=longest))
    except FilterError:
        return False
    return True


def _alternatives(expression: Expression) -> tuple[Alternative, ...]:
    normal = deduplicate(fold(flatten(push_negations(expression))))
    return distribute(normal, _SPREAD).alternatives


def _joined(alternatives: list[Alternative]) -> Expression:
    merged = _merged(_absorbed(alternatives))
    return deduplicate(fold(flatten(any_of(tuple(map(all_of, merged))))))


def _absorbed(alternatives: list[Alternative]) -> list[Alternative]:
    """`A || A && B -> A`, for alternatives of a single part."""
    alone = {each[0] for each in alternatives if len(each) == 1}
    return [each for each in dict.fromkeys(alternatives) if len(each) == 1 or alone.isdisjoint(each)]


def _merged(alternatives: list[Alternative]) -> list[Alternative]:
    """`a == 1 && B || a == 2 && B -> a in [1, 2] && B`."""
    groups: dict[tuple[Operand | None, Alternative], list[Literal]] = defaultdict(list)
    for each in alternatives:
        position = next((index for index, part in enumerate(each) if _literals(part)), None)
        if position is None:
            groups[None, each] = []
            continue
        part = each[position]
        if isinstance(part, Comparison | OneOf):
            groups[part.operand, each[:position] + each[position + 1 :]].extend(_literals(part))
    return [
        rest if operand is None else (_one_of(operand, literals), *rest)
        for (operand, rest), literals in groups.items()
    ]


def _literals(part: Expression) -> tuple[Literal, ...]:
    match part:
        case Comparison(_, Operator.EQUAL, literal):
            return (literal,)
        case OneOf(_, literals):
            return literals
        case _:
            return ()


def _one_of(operand: Operand, literals: list[Literal]) -> Expression:
    distinct = tuple(dict.fromkeys(literals))
    if len(distinct) == 1:
        return Comparison(operand, Operator.EQUAL, distinct[0])
    return OneOf(operand, distinct)


def _weakest(alternative: Alternative) -> Alternative:
    """`A && B -> A`, where A is a part that merges well with others."""
    best = next((part for part in alternative if _literals(part)), None)
    return alternative[:1] if best is None else (best,)


def _presence(alternative: Alternative) -> Alternative:
    """`a == 1 -> has(a)`: what compares equal is there."""
    for part in alternative:
        if isinstance(part, Comparison | OneOf) and _literals(part):
            path: Path = part.operand.path if isinstance(part.operand, Text) else part.operand
            return (Has(path),) if len(path.steps) > 1 else ()
    return ()

"""The union of many filters, with which a source can drop events early."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.errors import FilterError
from headrace.filters.backends.cel import write_cel
from headrace.filters.bounds.limits import DEFAULT_LIMITS, Limits
from headrace.filters.bounds.sizes import check_size
from headrace.filters.ir.atoms import Comparison, Has, OneOf
from headrace.filters.ir.expression import Constant, Not, all_of, any_of, path_of
from headrace.filters.rewrites.deduplicate import deduplicate
from headrace.filters.rewrites.distribute import distribute
from headrace.filters.rewrites.flatten import flatten
from headrace.filters.rewrites.fold import fold
from headrace.filters.rewrites.negate import push_negations
from headrace.filters.upstream.covers import cover, literals_of, one_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.filters.filter import Filter
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.literals import Literal
    from headrace.filters.ir.operands import Operand
    from headrace.filters.rewrites.distribute import Alternative

LONGEST = 10_000

_KEPT = (1024, 256, 64, 16, 4, 1)
"""How many values each operand may keep, tried in this order."""

_SPREAD = 16
"""How many alternatives one filter may become: more would add more text than merging saves."""


@dataclass(frozen=True, slots=True)
class Union:
    """True wherever any of the filters is. `widened`: it may also be true where none of them is."""

    expression: Expression
    widened: bool

    @property
    def cel(self) -> str:
        """The canonical CEL text."""
        return write_cel(self.expression)


def union(filters: Iterable[Filter], *, longest: int = LONGEST, limits: Limits = DEFAULT_LIMITS) -> Union:
    """Join filters into one simplified expression with at most `longest` characters of CEL.

    If the exact union is larger, it is widened step by step, never narrowed, in the end to `true`.
    """
    expressions = dict.fromkeys(each.expression for each in filters)
    exact = [each for expression in expressions for each in _alternatives(expression)]
    merged = _merged(_absorbed(exact))
    limits = replace(limits, expression=longest)
    if found := _within(merged, limits):
        return Union(found, widened=False)
    for most in _KEPT:
        if found := _within(_merged(_absorbed(cover(merged, most))), limits):
            return Union(found, widened=True)
    return Union(Constant(value=True), widened=True)


def _within(alternatives: list[Alternative], limits: Limits) -> Expression | None:
    """Return the expression; None if it is too large for a filter."""
    if sum(1 + sum(map(_count, each)) for each in alternatives) > limits.expression:
        return None  # each takes more than a character, so there is no need to build it
    expression = deduplicate(fold(flatten(any_of(tuple(map(all_of, alternatives))))))
    return expression if _fits(expression, limits) else None


def _count(part: Expression) -> int:
    return max(1, len(literals_of(part)))


def _fits(expression: Expression, limits: Limits) -> bool:
    try:
        check_size(expression, limits)
    except FilterError:
        return False
    return True


def _alternatives(expression: Expression) -> tuple[Alternative, ...]:
    normal = deduplicate(fold(flatten(push_negations(expression))))
    return tuple(map(_without_guards, distribute(normal, _SPREAD).alternatives))


def _without_guards(alternative: Alternative) -> Alternative:
    """`has(a) && a == 1 -> a == 1`: where unknown is false, a test of a value implies its presence."""
    clauses = [part.part if isinstance(part, Not) else part for part in alternative]
    asked = {path_of(clause) for clause in clauses if hasattr(clause, "operand")}
    return tuple(part for part in alternative if not (isinstance(part, Has) and part.path in asked))


def _absorbed(alternatives: list[Alternative]) -> list[Alternative]:
    """`A || A && B -> A`, for alternatives of a single part."""
    alone = {each[0] for each in alternatives if len(each) == 1}
    return [each for each in dict.fromkeys(alternatives) if len(each) == 1 or alone.isdisjoint(each)]


def _merged(alternatives: list[Alternative]) -> list[Alternative]:
    """`a == 1 && B || a == 2 && B -> a in [1, 2] && B`."""
    groups: dict[tuple[Operand | None, Alternative], list[Literal]] = defaultdict(list)
    for each in alternatives:
        position = next((index for index, part in enumerate(each) if literals_of(part)), None)
        if position is None:
            groups[None, each] = []
            continue
        part = each[position]
        if isinstance(part, Comparison | OneOf):
            groups[part.operand, each[:position] + each[position + 1 :]].extend(literals_of(part))
    return [
        rest if operand is None else (one_of(operand, literals), *rest)
        for (operand, rest), literals in groups.items()
    ]

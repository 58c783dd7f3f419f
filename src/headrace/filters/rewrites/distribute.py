"""`(A || B) && C -> A && C || B && C`, up to a limit of alternatives.

Beyond it, a disjunction stays inside an alternative and the form isn't complete.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from headrace.filters.ir.expression import And, Expression, Or, all_of, any_of

Alternative: TypeAlias = tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class DisjunctiveForm:
    """True where all parts of some alternative are. Without alternatives it is never true, with an empty one always.

    `complete` means that no part is a disjunction.
    """

    alternatives: tuple[Alternative, ...]
    complete: bool

    @property
    def expression(self) -> Expression:
        """The form as a tree."""
        return any_of(tuple(map(all_of, self.alternatives)))


def distribute(expression: Expression, limit: int) -> DisjunctiveForm:
    """Return the disjunctive form of an expression in negation normal form, with at most `limit` alternatives."""
    alternatives = tuple(_alternatives(expression, limit))
    complete = not any(isinstance(part, Or) for each in alternatives for part in each)
    return DisjunctiveForm(alternatives, complete)


def _alternatives(expression: Expression, limit: int) -> list[Alternative]:
    match expression:
        case Or(parts):
            joined = [each for part in parts for each in _alternatives(part, limit)]
            return joined if len(joined) <= limit else [(expression,)]
        case And(parts):
            return _multiplied(parts, limit)
        case _:
            return [(expression,)]


def _multiplied(parts: tuple[Expression, ...], limit: int) -> list[Alternative]:
    combined: list[Alternative] = [()]
    for part in parts:
        choices = _alternatives(part, limit)
        if len(combined) * len(choices) > limit:
            choices = [(part,)]
        combined = [left + right for left, right in product(combined, choices)]
    return combined

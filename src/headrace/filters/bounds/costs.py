"""What a filter costs at worst, on an event that is made to cost most: in steps of about a microsecond."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.filters.bounds.scans import count_scans
from headrace.filters.ir.expression import And, Not, Or, nodes_of
from headrace.filters.ir.terms import Macro, Operation
from headrace.filters.values.budget import LOOPING_STEPS, STEPS

if TYPE_CHECKING:
    from headrace.filters.ir.expression import Expression


def worst_cost(expression: Expression) -> int:
    """Add up the budgets of the clauses that can use one up. What takes the same time on every event costs nothing."""
    return STEPS * count_scans(expression) + LOOPING_STEPS * _count_looping(expression)


def _count_looping(expression: Expression) -> int:
    match expression:
        case Not(part):
            return _count_looping(part)
        case And(parts) | Or(parts) | Operation("?:", parts):
            return sum(map(_count_looping, parts))
        case _:
            return int(any(isinstance(node, Macro) for node in nodes_of(expression)))

"""A filter on a whole batch of events at once, in columns.

Two-valued: after negation normal form an unknown clause counts as false. Clauses about one path are answered for all
rows together; the rest (`is_columnar` says which) goes to the reference evaluator, row by row, but only for rows that
the columns left open.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from headrace.filters.backends.arrow.atoms import holds_in
from headrace.filters.backends.arrow.table import EventTable
from headrace.filters.backends.reference import evaluate as evaluate_row
from headrace.filters.ir.atoms import (
    Comparison,
    Contains,
    EndsWith,
    Has,
    Includes,
    Matches,
    MatchesGlob,
    OneOf,
    StartsWith,
)
from headrace.filters.ir.expression import And, Constant, Not, Or, clauses_of
from headrace.filters.ir.operands import Path, Text
from headrace.filters.rewrites.normalize import normal_form

if TYPE_CHECKING:
    import numpy.typing as npt

    from headrace.filters.ir.expression import Expression

    Mask: TypeAlias = npt.NDArray[np.bool_]

_ATOMS = (Has, Comparison, OneOf, Includes, StartsWith, EndsWith, Contains, Matches, MatchesGlob, Path)


class _Cost(IntEnum):
    ATTRIBUTES = 0
    DATA = 1
    ROWS = 2


def evaluate(expression: Expression, batch: pa.RecordBatch) -> pa.BooleanArray:
    """Say of every event of the batch, which has the columns of the event table, whether the filter matches it."""
    normal = normal_form(expression)
    paths = frozenset(path_of(clause) for clause in clauses_of(normal) if is_columnar(clause))
    return pa.array(_mask(normal, EventTable.of(batch, paths)), pa.bool_())


def is_columnar(clause: Expression) -> bool:
    """Say whether whole columns can answer a clause, negated or not: an atom, or a path that is a boolean.

    Terms (arithmetic, calls, macros, conditionals, constructed lists and maps) and `ce` as a whole can't.
    """
    atom = clause.part if isinstance(clause, Not) else clause
    return isinstance(atom, _ATOMS) and path_of(atom).steps != ("ce",)


def path_of(clause: Expression) -> Path:
    """Return the path that a columnar clause asks about."""
    match clause:
        case Not(part):
            return path_of(part)
        case Path():
            return clause
        case Has(path):
            return path
        case _:
            operand = getattr(clause, "operand", None)
            if isinstance(operand, Text):
                return operand.path
            if isinstance(operand, Path):
                return operand
            raise TypeError(f"{type(clause).__name__} asks about no single path")


def _mask(expression: Expression, table: EventTable) -> Mask:
    match expression:
        case Constant(value):
            return np.full(table.num_rows, value)
        case And(parts):
            return _all(parts, table)
        case Or(parts):
            return _any(parts, table)
        case _ if is_columnar(expression):
            return holds_in(expression, table.column(path_of(expression)))
        case _:
            return _by_row(expression, table)


def _all(parts: tuple[Expression, ...], table: EventTable) -> Mask:
    """Ask the cheap parts first, and each costly one only about the rows for which all before it hold."""
    holds = np.ones(table.num_rows, np.bool_)
    for part in sorted(parts, key=_cost):
        if _cost(part) is _Cost.ATTRIBUTES:
            holds &= _mask(part, table)
        else:
            holds[holds] = _mask(part, table.where(holds))
    return holds


def _any(parts: tuple[Expression, ...], table: EventTable) -> Mask:
    fails = np.ones(table.num_rows, np.bool_)
    for part in sorted(parts, key=_cost):
        if _cost(part) is _Cost.ATTRIBUTES:
            fails &= ~_mask(part, table)
        else:
            fails[fails] = ~_mask(part, table.where(fails))
    return ~fails


def _cost(expression: Expression) -> _Cost:
    return max((_clause_cost(clause) for clause in clauses_of(expression)), default=_Cost.ATTRIBUTES)


def _clause_cost(clause: Expression) -> _Cost:
    if not is_columnar(clause):
        return _Cost.ROWS
    return _Cost.DATA if path_of(clause).steps[0] == "data" else _Cost.ATTRIBUTES


def _by_row(expression: Expression, table: EventTable) -> Mask:
    truths = (evaluate_row(expression, variables) is True for variables in table.variables())
    return np.fromiter(truths, np.bool_, table.num_rows)

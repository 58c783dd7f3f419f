"""Evaluate a filter on a whole batch of events, in columns.

Two-valued: in negation normal form an unknown clause counts as false. Columnar clauses, those about one path, are
evaluated for all rows together. The reference evaluator evaluates the rest row by row, but only on rows for which the
columns leave the answer open.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.filters.backends.arrow.atoms import holds_in
from headrace.filters.backends.arrow.table import EventTable
from headrace.filters.backends.reference import evaluate as evaluate_row
from headrace.filters.ir.atoms import ATOMS
from headrace.filters.ir.expression import And, Constant, Not, Or, clauses_of, path_of
from headrace.filters.ir.operands import CE, Path
from headrace.filters.rewrites.normalize import normal_form

if TYPE_CHECKING:
    from headrace.filters.backends.arrow.columns import Mask
    from headrace.filters.ir.expression import Expression


class _Cost(IntEnum):
    ATTRIBUTES = 0
    DATA = 1
    ROWS = 2


def evaluate(expression: Expression, batch: pa.RecordBatch) -> pa.BooleanArray:
    """Return for each event of a batch with the columns of the event table whether the filter matches it."""
    normal = normal_form(expression)
    paths = frozenset(filter(None, map(columnar_path, clauses_of(normal))))
    return pa.array(_mask(normal, EventTable.of(batch, paths)), pa.bool_())


def columnar_path(clause: Expression) -> Path | None:
    """Return the path of a columnar clause: an atom or a boolean path, negated or not. None for other clauses.

    Terms (arithmetic, calls, macros, conditionals, list and map literals) and `ce` as a whole aren't columnar.
    """
    atom = clause.part if isinstance(clause, Not) else clause
    path = path_of(atom) if isinstance(atom, (*ATOMS, Path)) else None
    return None if path == CE else path


def _mask(expression: Expression, table: EventTable) -> Mask:
    match expression:
        case Constant(value):
            return np.full(table.num_rows, value)
        case And(parts):
            return _all(parts, table)
        case Or(parts):
            return _any(parts, table)
        case _ if (path := columnar_path(expression)) is not None:
            return holds_in(expression, table.column(path))
        case _:
            return _by_row(expression, table)


def _all(parts: tuple[Expression, ...], table: EventTable) -> Mask:
    """Evaluate cheap parts first, and costly ones only on the rows for which all parts before are true."""
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
    path = columnar_path(clause)
    if path is None:
        return _Cost.ROWS
    return _Cost.DATA if path.steps[0] == "data" else _Cost.ATTRIBUTES


def _by_row(expression: Expression, table: EventTable) -> Mask:
    truths = (evaluate_row(expression, variables) is True for variables in table.variables())
    return np.fromiter(truths, np.bool_, table.num_rows)

"""A filter as a column over the event table, for Spark. Two-valued, never null.

What `is_native` has stays in Spark: comparisons of attributes are plain comparisons of columns, so that Parquet sees
them. The rest is asked of the Arrow back end, once per filter, about the rows for which the native clauses and the
bytes of the data leave the answer open.
"""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from headrace.filters.backends.spark.byte_marks import mark_column, marks_of
from headrace.filters.backends.spark.clauses import clause_column
from headrace.filters.backends.spark.python import in_python
from headrace.filters.backends.spark.support import is_native
from headrace.filters.ir.expression import And, Constant, Or, all_of
from headrace.filters.rewrites.bound import necessary, sufficient
from headrace.filters.rewrites.normalize import normal_form

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.filters.ir.expression import Expression

__all__ = ["Column", "column", "is_native"]


def column(expression: Expression) -> Column:
    """Return the column that is true exactly where the filter matches, and false everywhere else."""
    normal = normal_form(expression)
    native = necessary(normal, is_native)
    if native == normal:
        return _column(native, clause_column)
    # Conjunctions of their own: Spark asks those without Python first, and Parquet the first of them.
    marked = necessary(normal, lambda clause: bool(marks_of(clause)))
    return _column(native, clause_column) & _column(marked, mark_column) & _asked(_open(normal))


def _open(normal: Expression) -> Expression:
    """Return what remains to be asked where the native clauses don't exclude the row."""
    parts = normal.parts if isinstance(normal, And) else (normal,)
    return all_of(tuple(part for part in parts if necessary(part, is_native) != part))


def _asked(expression: Expression) -> Column:
    enough = _column(sufficient(expression, is_native), clause_column)
    return in_python(expression, F.when(enough, F.lit(col=True)))


def _column(expression: Expression, clause: Callable[[Expression], Column]) -> Column:
    match expression:
        case Constant(value):
            return F.lit(value)
        case And(parts):
            return reduce(and_, (_column(part, clause) for part in parts))
        case Or(parts):
            return reduce(or_, (_column(part, clause) for part in parts))
        case _:
            return clause(expression)

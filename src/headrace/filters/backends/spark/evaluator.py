"""A filter as a column over the event table, for Spark. Two-valued, never null.

Native clauses stay in Spark: comparisons of attributes are plain comparisons of columns, which Parquet sees. The rest
is evaluated by the Arrow back end, once per filter, on the rows for which the native clauses and the bytes of the data
leave the answer open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from headrace.filters.backends.spark.clauses import clause_column, tree_column
from headrace.filters.backends.spark.python import in_python
from headrace.filters.backends.spark.required_texts import required_texts, required_texts_column
from headrace.filters.backends.spark.support import is_native
from headrace.filters.ir.expression import And, all_of
from headrace.filters.rewrites.bound import necessary, sufficient
from headrace.filters.rewrites.normalize import normal_form

if TYPE_CHECKING:
    from headrace.filters.ir.expression import Expression

__all__ = ["Column", "column", "is_native"]


def column(expression: Expression) -> Column:
    """Return the column that is true exactly where the filter matches, and false everywhere else."""
    normal = normal_form(expression)
    native = necessary(normal, is_native)
    if native == normal:
        return tree_column(native, clause_column)
    # Separate conjuncts: Spark evaluates those without Python first, and Parquet sees the first of them.
    texts = necessary(normal, lambda clause: bool(required_texts(clause)))
    return (
        tree_column(native, clause_column) & tree_column(texts, required_texts_column) & _asked(_open(normal))
    )


def _open(normal: Expression) -> Expression:
    """Return what remains to be evaluated where the native clauses don't exclude the row."""
    parts = normal.parts if isinstance(normal, And) else (normal,)
    return all_of(tuple(part for part in parts if necessary(part, is_native) != part))


def _asked(expression: Expression) -> Column:
    enough = tree_column(sufficient(expression, is_native), clause_column)
    return in_python(expression, F.when(enough, F.lit(col=True)))

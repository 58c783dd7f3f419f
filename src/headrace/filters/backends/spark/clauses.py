"""Native clauses as columns: true or false on every row, and comparisons that Parquet sees where possible."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from headrace.filters.backends.arrow.table import STRING_COLUMNS
from headrace.filters.backends.spark.extensions import extension_truth
from headrace.filters.backends.spark.strings import string_truth
from headrace.filters.backends.spark.support import EQUALITIES
from headrace.filters.ir.atoms import Comparison, Contains, Has, Operator
from headrace.filters.ir.expression import And, Constant, Not, Or, path_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

    from headrace.filters.ir.expression import Expression


def tree_column(expression: Expression, clause: Callable[[Expression], Column]) -> Column:
    """Return the column of a tree without negated connectives; `clause` makes the columns of its clauses."""
    match expression:
        case Constant(value):
            return F.lit(value)
        case And(parts):
            return reduce(and_, (tree_column(part, clause) for part in parts))
        case Or(parts):
            return reduce(or_, (tree_column(part, clause) for part in parts))
        case _:
            return clause(expression)


def clause_column(clause: Expression) -> Column:
    """Return the column of a native clause in normal form, false where the clause is unknown."""
    atom, negated = (clause.part, True) if isinstance(clause, Not) else (clause, False)
    path = path_of(atom)
    assert path is not None  # noqa: S101  native clauses are about a path
    steps = path.steps
    if steps in STRING_COLUMNS:
        return _of_strings(atom, F.col(STRING_COLUMNS[steps]), negated)
    if steps == ("publishTime",):
        return F.col("publish_time").isNotNull() & _signed(_of_moments(atom), negated)
    return F.coalesce(_signed(extension_truth(atom, steps[-1]), negated), F.lit(col=False))


def _signed(truth: Column, negated: bool) -> Column:
    return ~truth if negated else truth


def _of_strings(atom: Expression, strings: Column, negated: bool) -> Column:
    """Test that the column isn't null: Parquet doesn't see through `coalesce`."""
    if isinstance(atom, Has):
        return strings.isNull() if negated else strings.isNotNull()
    is_order = isinstance(atom, Comparison) and atom.operator not in EQUALITIES
    if isinstance(atom, Comparison) and is_order and not isinstance(atom.literal.value, str):
        return F.lit(col=False)
    truth = _signed(string_truth(atom, strings), negated)
    # Whether a text beyond the budget contains another is unknown.
    return F.coalesce(truth, F.lit(col=False)) if isinstance(atom, Contains) else strings.isNotNull() & truth


def _of_moments(atom: Expression) -> Column:
    """Compare the column itself, whose microseconds `publishTime` cuts to milliseconds."""
    assert isinstance(atom, Comparison)  # noqa: S101  the only native clause about it
    assert isinstance(atom.literal.value, int)  # noqa: S101
    first, after = _moment(atom.literal.value), _moment(atom.literal.value + 1)
    time = F.col("publish_time")
    columns = {
        Operator.EQUAL: (time >= first) & (time < after),
        Operator.NOT_EQUAL: (time < first) | (time >= after),
        Operator.LESS: time < first,
        Operator.LESS_OR_EQUAL: time < after,
        Operator.GREATER: time >= after,
        Operator.GREATER_OR_EQUAL: time >= first,
    }
    return columns[atom.operator]


def _moment(milliseconds: int) -> Column:
    return F.timestamp_micros(F.lit(milliseconds * 1000).cast("bigint"))

"""Native clauses as columns: true or false on every row, and where it can be, a comparison that Parquet sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from headrace.filters.backends.arrow.evaluator import path_of
from headrace.filters.backends.spark.extensions import extension_truth
from headrace.filters.backends.spark.strings import string_truth
from headrace.filters.backends.spark.support import STRING_COLUMNS
from headrace.filters.ir.atoms import Comparison, Contains, Has, Operator
from headrace.filters.ir.expression import Not

if TYPE_CHECKING:
    from pyspark.sql import Column

    from headrace.filters.ir.expression import Expression


def clause_column(clause: Expression) -> Column:
    """Return the column of a native clause of the normal form, false where the clause is unknown."""
    atom, negated = (clause.part, True) if isinstance(clause, Not) else (clause, False)
    steps = path_of(atom).steps
    if steps in STRING_COLUMNS:
        return _of_strings(atom, F.col(STRING_COLUMNS[steps]), negated)
    if steps == ("publishTime",):
        return F.col("publish_time").isNotNull() & _signed(_of_moments(atom), negated)
    return F.coalesce(_signed(extension_truth(atom, steps[-1]), negated), F.lit(col=False))


def _signed(truth: Column, negated: bool) -> Column:
    return ~truth if negated else truth


def _of_strings(atom: Expression, strings: Column, negated: bool) -> Column:
    """Say that the column isn't null, instead of `coalesce`, which Parquet doesn't see through."""
    if isinstance(atom, Has):
        return strings.isNull() if negated else strings.isNotNull()
    if (
        isinstance(atom, Comparison)
        and not isinstance(atom.literal.value, str)
        and atom.operator not in _KNOWN
    ):
        return F.lit(col=False)
    truth = _signed(string_truth(atom, strings), negated)
    # Of a text above the budget it is unknown whether it contains another.
    return F.coalesce(truth, F.lit(col=False)) if isinstance(atom, Contains) else strings.isNotNull() & truth


_KNOWN = (Operator.EQUAL, Operator.NOT_EQUAL)


def _of_moments(atom: Expression) -> Column:
    """Compare the moments themselves: `publishTime` is cut to milliseconds."""
    # The only native question about it.
    assert isinstance(atom, Comparison)  # noqa: S101
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

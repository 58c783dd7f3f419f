"""Necessary conditions over the archive's own columns, with which Parquet can skip rows unread.

They are added to the filter and never replace it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from headrace.filters.backends.search import EVENT_TIME, steps_of, strings_asked
from headrace.filters.backends.spark.clauses import tree_column
from headrace.filters.backends.spark.strings import COMPARE
from headrace.filters.ir.atoms import Comparison, Has, StartsWith

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

    from headrace.filters.ir.expression import Expression


def search_column(condition: Expression, extension: Callable[[str], Column], event_time: Column) -> Column:
    """Return the column of a search condition; `extension` returns that of an extension's canonical string."""

    def clause_column(clause: Expression) -> Column:
        steps = steps_of(clause)
        return (
            _of_time(clause, event_time) if steps == EVENT_TIME else _of_string(clause, extension(steps[1]))
        )

    return tree_column(condition, clause_column)


def _of_time(clause: Expression, event_time: Column) -> Column:
    assert isinstance(clause, Comparison)  # noqa: S101  the only searchable clause about it
    assert isinstance(clause.literal.value, int)  # noqa: S101
    moment = F.timestamp_micros(F.lit(clause.literal.value * 1000).cast("bigint"))
    return COMPARE[clause.operator](event_time, moment)


def _of_string(clause: Expression, strings: Column) -> Column:
    asked = strings_asked(clause)
    if asked is not None:
        return strings.isin(asked)
    match clause:
        case Has():
            return strings.isNotNull()
        case StartsWith(_, prefix):
            return strings.startswith(prefix)
        case Comparison(_, operator, literal):
            return COMPARE[operator](strings, literal.value)
        case _:
            raise AssertionError(clause)

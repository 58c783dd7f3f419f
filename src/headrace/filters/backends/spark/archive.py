"""What must be true of the archive's own columns where a filter is, so that Parquet can leave rows out unread.

It stands in front of the filter, and decides nothing alone.
"""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from headrace.filters.backends.search import EVENT_TIME, steps_of, strings_asked
from headrace.filters.backends.spark.strings import COMPARE
from headrace.filters.ir.atoms import Comparison, Has, StartsWith
from headrace.filters.ir.expression import And, Constant, Or

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

    from headrace.filters.ir.expression import Expression


def search_column(condition: Expression, extension: Callable[[str], Column], event_time: Column) -> Column:
    """Return a search condition as a column; `extension` gives the column of an extension's canonical string."""
    match condition:
        case Constant(value):
            return F.lit(value)
        case And(parts):
            return reduce(and_, (search_column(part, extension, event_time) for part in parts))
        case Or(parts):
            return reduce(or_, (search_column(part, extension, event_time) for part in parts))
        case _ if (steps := steps_of(condition)) == EVENT_TIME:
            return _of_time(condition, event_time)
        case _:
            return _of_string(condition, extension(steps[1]))


def _of_time(clause: Expression, event_time: Column) -> Column:
    assert isinstance(clause, Comparison)  # noqa: S101  the only searchable question about it
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

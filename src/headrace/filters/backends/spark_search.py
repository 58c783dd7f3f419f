"""What must be true of the archive's own columns where a filter is, so that Parquet can leave rows out unread.

The filter itself asks maps and texts, in which Parquet sees nothing: an extension stands in a map, an event's time is
a text. A necessary condition over columns made from them stands in front; it decides nothing alone.
"""

from __future__ import annotations

import math
import re
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from headrace.events.canonical import canonical_string
from headrace.filters.backends.spark_native import IN_DOUBLES, STRING_COLUMNS, is_unicode
from headrace.filters.backends.spark_strings import COMPARE
from headrace.filters.ir.atoms import Comparison, Has, OneOf, Operator, StartsWith
from headrace.filters.ir.expression import And, Constant, Or, clauses_of
from headrace.filters.ir.operands import Path, Text
from headrace.filters.rewrites.bound import necessary
from headrace.filters.rewrites.normalize import normal_form

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column

    from headrace.filters.ir.expression import Expression

_EXTENSION = re.compile(r"[a-z0-9]+")
_EVENT_TIME = ("eventTime",)
# Years 1 to 9999, in milliseconds.
_MOMENTS = range(-62135596800_000, 253402300800_000)


def search_condition(expression: Expression) -> Expression:
    """Return what is necessary for the filter and can be asked of those columns; `true` where nothing can."""
    return necessary(normal_form(expression), _is_searchable)


def extensions_of(condition: Expression) -> frozenset[str]:
    """Return the extensions whose columns a condition asks."""
    steps = map(_steps_of, clauses_of(condition))
    return frozenset(each[1] for each in steps if each != _EVENT_TIME)


def without_extensions(condition: Expression) -> Expression:
    """Return what is necessary for a condition and asks no extension's column."""
    return necessary(condition, lambda clause: _steps_of(clause) == _EVENT_TIME)


def search_column(condition: Expression, extension: Callable[[str], Column], event_time: Column) -> Column:
    """Return the condition as a column; `extension` gives the column of an extension's canonical string."""
    match condition:
        case Constant(value):
            return F.lit(value)
        case And(parts):
            return reduce(and_, (search_column(part, extension, event_time) for part in parts))
        case Or(parts):
            return reduce(or_, (search_column(part, extension, event_time) for part in parts))
        case _ if (steps := _steps_of(condition)) == _EVENT_TIME:
            return _of_time(condition, event_time)
        case _:
            return _of_string(condition, extension(steps[1]))


def _is_searchable(clause: Expression) -> bool:
    steps = _steps_of(clause)
    if steps == _EVENT_TIME:
        return _asks_moment(clause)
    is_extension = len(steps) == 2 and steps[0] == "ce" and steps not in STRING_COLUMNS
    return is_extension and _EXTENSION.fullmatch(steps[1]) is not None and _asks_string(clause)


def _steps_of(clause: object) -> tuple[str, ...]:
    if isinstance(clause, Has):
        return clause.path.steps
    operand = getattr(clause, "operand", None)
    if isinstance(operand, Text):
        operand = operand.path
    return operand.steps if isinstance(operand, Path) else ()


def _asks_moment(clause: Expression) -> bool:
    match clause:
        case Comparison(Path(), operator, literal):
            asks = type(literal.value) is int and literal.value in _MOMENTS
            return asks and operator is not Operator.NOT_EQUAL
        case _:
            return False


def _asks_string(clause: Expression) -> bool:  # noqa: PLR0911 -- one per node
    """Say whether the clause is true only of certain canonical strings."""
    match clause:
        case Has():
            return True
        case StartsWith(Path(), prefix):
            return is_unicode(prefix)
        case StartsWith(Text(), prefix):
            return is_unicode(prefix) and not IN_DOUBLES.issuperset(prefix)
        case Comparison(Path(), operator, literal):
            return _is_string(literal.value) and operator is not Operator.NOT_EQUAL
        case Comparison(Text(), Operator.EQUAL, literal):
            return _is_string(literal.value)
        case OneOf(_, literals):
            return all(_is_string(literal.value) for literal in literals)
        case _:
            return False


def _is_string(value: object) -> bool:
    return isinstance(value, str) and is_unicode(value)


def _of_time(clause: Expression, event_time: Column) -> Column:
    assert isinstance(clause, Comparison)  # noqa: S101  the only searchable question about it
    assert isinstance(clause.literal.value, int)  # noqa: S101
    moment = F.timestamp_micros(F.lit(clause.literal.value * 1000).cast("bigint"))
    return COMPARE[clause.operator](event_time, moment)


def _of_string(clause: Expression, strings: Column) -> Column:
    match clause:
        case Has():
            return strings.isNotNull()
        case StartsWith(_, prefix):
            return strings.startswith(prefix)
        case Comparison(Path(), operator, literal):
            return COMPARE[operator](strings, literal.value)
        case Comparison(Text(), _, literal):
            return strings.isin(_spellings(str(literal.value)))
        case OneOf(operand, literals):
            texts = [str(literal.value) for literal in literals]
            spelt = (
                [each for text in texts for each in _spellings(text)] if isinstance(operand, Text) else texts
            )
            return strings.isin(spelt)
        case _:
            raise AssertionError(clause)


def _spellings(text: str) -> list[str]:
    """Return the canonical strings of the values of which CEL writes this text: doubles are written in two ways."""
    try:
        number = float(text)
    except ValueError:
        return [text]
    return sorted({text, canonical_string(number)}) if math.isfinite(number) else [text]

"""Necessary conditions of a filter over the archive's search columns: canonical strings of extensions, event time.

The filter itself reads maps and texts, which Parquet and the archive's manifest have no statistics for: extensions are
in a map, and the event's time is a text.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from headrace.events.canonical import canonical_string
from headrace.filters.backends.arrow.table import STRING_COLUMNS
from headrace.filters.backends.spark.support import IN_DOUBLES
from headrace.filters.ir.atoms import Comparison, Has, OneOf, Operator, StartsWith
from headrace.filters.ir.expression import clauses_of, path_of
from headrace.filters.ir.operands import Path, Text
from headrace.filters.rewrites.bound import necessary
from headrace.filters.rewrites.normalize import normal_form
from headrace.filters.values.texts import is_unicode

if TYPE_CHECKING:
    from headrace.filters.ir.expression import Expression

EVENT_TIME = ("eventTime",)
_EXTENSION = re.compile(r"[a-z0-9]+")
# Years 1 to 9999, in milliseconds.
_MOMENTS = range(-62135596800_000, 253402300800_000)


def search_condition(expression: Expression) -> Expression:
    """Return the filter's necessary condition over those columns; `true` if there is none."""
    return necessary(normal_form(expression), _is_searchable)


def extensions_of(condition: Expression) -> frozenset[str]:
    """Return the extensions whose columns a condition reads."""
    steps = map(steps_of, clauses_of(condition))
    return frozenset(each[1] for each in steps if each != EVENT_TIME)


def without_extensions(condition: Expression) -> Expression:
    """Return the necessary condition that reads no extension's column."""
    return necessary(condition, lambda clause: steps_of(clause) == EVENT_TIME)


def is_extension(steps: tuple[str, ...]) -> bool:
    """Return whether the path is that of an extension that may have a column."""
    return (
        len(steps) == 2
        and steps[0] == "ce"
        and steps not in STRING_COLUMNS
        and _EXTENSION.fullmatch(steps[1]) is not None
    )


def steps_of(clause: Expression) -> tuple[str, ...]:
    """Return the steps of the path that a clause asks about; none if it isn't about a single path."""
    path = path_of(clause)
    return () if path is None else path.steps


def asks_moment(clause: Expression) -> bool:
    """Return whether the clause is true only for certain times, given in milliseconds."""
    match clause:
        case Comparison(Path(), operator, literal):
            asks = type(literal.value) is int and literal.value in _MOMENTS
            return asks and operator is not Operator.NOT_EQUAL
        case _:
            return False


def asks_string(clause: Expression) -> bool:  # noqa: PLR0911 -- one per node
    """Return whether the clause is true only for certain canonical strings."""
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


def strings_asked(clause: Expression) -> list[str] | None:
    """Return the canonical strings for which the clause is true; None if it doesn't list them."""
    match clause:
        case Comparison(operand, Operator.EQUAL, literal):
            texts = [str(literal.value)]
        case OneOf(operand, literals):
            texts = [str(literal.value) for literal in literals]
        case _:
            return None
    return [each for text in texts for each in _spellings(text)] if isinstance(operand, Text) else texts


def _is_searchable(clause: Expression) -> bool:
    steps = steps_of(clause)
    if steps == EVENT_TIME:
        return asks_moment(clause)
    return is_extension(steps) and asks_string(clause)


def _is_string(value: object) -> bool:
    return isinstance(value, str) and is_unicode(value)


def _spellings(text: str) -> list[str]:
    """Return the canonical strings of the values that CEL writes so: there are two ways to write a double."""
    try:
        number = float(text)
    except ValueError:
        return [text]
    return sorted({text, canonical_string(number)}) if math.isfinite(number) else [text]

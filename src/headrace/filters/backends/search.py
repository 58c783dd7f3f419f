"""What a filter's clauses ask of an attribute's canonical string, or of the event's time.

The filter itself asks maps and texts, in which Parquet and the archive's manifest see nothing: an extension stands in
a map, an event's time is a text. Its clauses are necessary conditions over columns made from them.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from headrace.events.canonical import canonical_string
from headrace.filters.backends.spark.support import IN_DOUBLES, STRING_COLUMNS, is_unicode
from headrace.filters.ir.atoms import Comparison, Has, OneOf, Operator, StartsWith
from headrace.filters.ir.expression import clauses_of
from headrace.filters.ir.operands import Path, Text
from headrace.filters.rewrites.bound import necessary
from headrace.filters.rewrites.normalize import normal_form

if TYPE_CHECKING:
    from headrace.filters.ir.expression import Expression

EVENT_TIME = ("eventTime",)
_EXTENSION = re.compile(r"[a-z0-9]+")
# Years 1 to 9999, in milliseconds.
_MOMENTS = range(-62135596800_000, 253402300800_000)


def search_condition(expression: Expression) -> Expression:
    """Return what is necessary for the filter and can be asked of those columns; `true` where nothing can."""
    return necessary(normal_form(expression), _is_searchable)


def extensions_of(condition: Expression) -> frozenset[str]:
    """Return the extensions whose columns a condition asks."""
    steps = map(steps_of, clauses_of(condition))
    return frozenset(each[1] for each in steps if each != EVENT_TIME)


def without_extensions(condition: Expression) -> Expression:
    """Return what is necessary for a condition and asks no extension's column."""
    return necessary(condition, lambda clause: steps_of(clause) == EVENT_TIME)


def is_extension(steps: tuple[str, ...]) -> bool:
    """Say whether a path is that of an extension which may have a column."""
    return (
        len(steps) == 2
        and steps[0] == "ce"
        and steps not in STRING_COLUMNS
        and _EXTENSION.fullmatch(steps[1]) is not None
    )


def steps_of(clause: object) -> tuple[str, ...]:
    """Return the path that an atom looks at; an empty one where it is no atom."""
    if isinstance(clause, Has):
        return clause.path.steps
    operand = getattr(clause, "operand", None)
    if isinstance(operand, Text):
        operand = operand.path
    return operand.steps if isinstance(operand, Path) else ()


def asks_moment(clause: Expression) -> bool:
    """Say whether the clause is true only of certain moments, given in milliseconds."""
    match clause:
        case Comparison(Path(), operator, literal):
            asks = type(literal.value) is int and literal.value in _MOMENTS
            return asks and operator is not Operator.NOT_EQUAL
        case _:
            return False


def asks_string(clause: Expression) -> bool:  # noqa: PLR0911 -- one per node
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


def strings_asked(clause: Expression) -> list[str] | None:
    """Return the canonical strings of which one is needed; None where the clause doesn't list them."""
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
    """Return the canonical strings of the values of which CEL writes this text: doubles are written in two ways."""
    try:
        number = float(text)
    except ValueError:
        return [text]
    return sorted({text, canonical_string(number)}) if math.isfinite(number) else [text]

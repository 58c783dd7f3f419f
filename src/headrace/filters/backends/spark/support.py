"""Which clauses are native: Spark evaluates them without Python, and may push them down to Parquet.

Clauses about `ce` attributes, extensions, `tenant`, `collection` and `publishTime` are native, except:
- anything about `data`: VARIANT parses some documents differently, and was slower (`docs/measurements.md`);
- `matches` and `match` (Spark's regular expressions aren't RE2), terms (functions of CESQL too), `ce` as a whole;
- membership in lists, paths below an extension, `eventTime`, and `publishTime` compared with anything but an int;
- numbers that are NaN or beyond int, texts that aren't valid Unicode, the order of an extension's canonical string, and
  texts that the canonical string of a double may contain.

This module doesn't import Spark.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from headrace.filters.backends.arrow.evaluator import columnar_path
from headrace.filters.backends.arrow.table import STRING_COLUMNS
from headrace.filters.ir.atoms import Comparison, Contains, EndsWith, Has, OneOf, Operator, StartsWith
from headrace.filters.ir.expression import Not
from headrace.filters.ir.operands import Path, Text
from headrace.filters.rewrites.decide import decide
from headrace.filters.values.kinds import INT64
from headrace.filters.values.texts import is_unicode

if TYPE_CHECKING:
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.literals import Literal

EQUALITIES = (Operator.EQUAL, Operator.NOT_EQUAL)
IN_DOUBLES = frozenset("0123456789+-.einfa")
_FARTHEST = 10**15


def is_native(clause: Expression) -> bool:
    """Return whether Spark evaluates a clause, negated or not, without Python."""
    opened = decide(clause)
    atom = opened.part if isinstance(opened, Not) else opened
    path = columnar_path(atom)
    if path is None or not all(map(is_unicode, _texts_of(atom))):
        return False
    match path.steps:
        case steps if steps in STRING_COLUMNS:
            return isinstance(atom, Has | Comparison | OneOf | StartsWith | EndsWith | Contains)
        case ("publishTime",):
            return _is_of_moments(atom)
        case ("ce", name) if is_unicode(name):
            return _is_of_texts(atom) if _asks_text(atom) else _is_of_values(atom)
        case _:
            return False


def _texts_of(atom: Expression) -> list[str]:
    match atom:
        case StartsWith(_, text) | EndsWith(_, text) | Contains(_, text):
            return [text]
        case _:
            return [each.value for each in _literals_of(atom) if isinstance(each.value, str)]


def _literals_of(atom: Expression) -> tuple[Literal, ...]:
    match atom:
        case Comparison(_, _, literal):
            return (literal,)
        case OneOf(_, literals):
            return literals
        case _:
            return ()


def _asks_text(atom: Expression) -> bool:
    return isinstance(getattr(atom, "operand", None), Text)


def _is_of_moments(atom: Expression) -> bool:
    match atom:
        case Comparison(Path(), _, literal):
            return type(literal.value) is int and abs(literal.value) < _FARTHEST
        case _:
            return False


def _is_of_values(atom: Expression) -> bool:
    match atom:
        case Comparison(_, operator, literal) if operator not in EQUALITIES:
            return isinstance(literal.value, str) or _is_number(literal)
        case Comparison() | OneOf():
            numbers = (each for each in _literals_of(atom) if isinstance(each.value, int | float))
            return all(isinstance(each.value, bool) or _is_number(each) for each in numbers)
        case _:
            return isinstance(atom, Has | StartsWith | EndsWith | Contains)


def _is_number(literal: Literal) -> bool:
    match literal.value:
        case bool():
            return False
        case int(number):
            return int(number) in INT64
        case float(number):
            return not math.isnan(number)
        case _:
            return False


def _is_of_texts(atom: Expression) -> bool:
    match atom:
        case Comparison(_, operator, _) if operator not in EQUALITIES:
            return False
        case Comparison() | OneOf():
            return not any(map(_is_zero, _texts_of(atom)))
        case StartsWith(_, text) | EndsWith(_, text) | Contains(_, text):
            return not IN_DOUBLES.issuperset(text)
        case _:
            return False


def _is_zero(text: str) -> bool:
    """Return whether the text may be that of a zero: Spark can't tell the sign of a zero."""
    try:
        return float(text) == 0
    except ValueError:
        return False

"""What the index can check of an event: clauses about one field and constants, in the index's own terms.

A check is two-valued, true exactly where its clause is true. What has no check is left to the reference evaluator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from headrace.filters.ir.atoms import (
    Comparison,
    Contains,
    EndsWith,
    Has,
    Includes,
    Matches,
    MatchesGlob,
    OneOf,
    Operator,
    StartsWith,
)
from headrace.filters.ir.expression import Not
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import CE, Path
from headrace.filters.ir.terms import Call, Operation, TypeName
from headrace.filters.values.budget import longest_matched
from headrace.filters.values.patterns import translate
from headrace.matching.rules.intervals import ANY_INTEGER, EXACT, Interval, double_bits, interval_of

if TYPE_CHECKING:
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.operands import Operand

# Plain integers: the kernels freeze them.
(
    HAS,
    LACKS,
    EQUAL,
    UNEQUAL,
    ONE_OF,
    NONE_OF,
    STARTS,
    STARTS_NOT,
    ENDS,
    ENDS_NOT,
    CONTAINS,
    CONTAINS_NOT,
    WITHIN,
    BETWEEN,
    INCLUDES,
    INCLUDES_NOT,
    PATTERN,
) = range(17)

OPEN_BELOW, OPEN_ABOVE = 1, 2

STRING_KEY, NUMBER_KEY, CONSTANT_KEY, NO_KEY = 0, -1, -2, -3
NULL_KEY, FALSE_KEY, TRUE_KEY = 0, 1, 2


class Constant(NamedTuple):
    """A constant by which equality is looked up: equal values, and only these, have equal constants.

    `tag` says how to read it: a string is in `text`, anything else in `number`. `NO_KEY`: nothing equals it.
    """

    tag: int
    text: bytes = b""
    number: int = 0


@dataclass(frozen=True, slots=True)
class Span:
    """Strings between two others, in the order of their bytes. No bound is None."""

    least: bytes | None
    most: bytes | None
    open_: int = 0


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression, and the longest text, in bytes, that it may be looked for in."""

    text: str
    longest: int


Payload: TypeAlias = Constant | tuple[Constant, ...] | bytes | Interval | Span | Pattern | None


class Check(NamedTuple):
    """A question to one field of an event."""

    code: int
    operand: Operand
    payload: Payload = None


_INCLUDED = (str, int, float, bool)
_OPPOSITES = {
    Operator.LESS: Operator.GREATER_OR_EQUAL,
    Operator.LESS_OR_EQUAL: Operator.GREATER,
    Operator.GREATER: Operator.LESS_OR_EQUAL,
    Operator.GREATER_OR_EQUAL: Operator.LESS,
}
_NEGATED = {
    HAS: LACKS,
    EQUAL: UNEQUAL,
    UNEQUAL: EQUAL,
    ONE_OF: NONE_OF,
    STARTS: STARTS_NOT,
    ENDS: ENDS_NOT,
    CONTAINS: CONTAINS_NOT,
    INCLUDES: INCLUDES_NOT,
}


def check_of(part: Expression) -> Check | None:
    """Return the check of a clause in negation normal form, or nothing where the index can't decide it."""
    negated = isinstance(part, Not)
    atom = part.part if isinstance(part, Not) else part
    try:
        return _negated(atom) if negated else _check(atom)
    except UnicodeEncodeError:  # a lone surrogate, which no column of text can hold
        return None


def is_text(operand: Operand) -> Check:
    """Return the check that a field is a string: every one begins with the empty one."""
    return Check(STARTS, operand, b"")


def pattern_of(part: Expression) -> Check | None:
    """Return the check of a clause that is a pattern: exact, but as dear as a run of RE2."""
    match part:
        case Matches(operand, pattern):
            return Check(PATTERN, operand, Pattern(pattern, longest_matched(part)))
        case MatchesGlob(operand, pattern):
            return Check(PATTERN, operand, Pattern(translate(pattern), longest_matched(part)))
        case _:
            return None


def _negated(atom: Expression) -> Check | None:
    if isinstance(atom, Comparison) and atom.operator in _OPPOSITES:
        # No value of an event is NaN, and a bound that is gets no check.
        return _check(Comparison(atom.operand, _OPPOSITES[atom.operator], atom.literal))
    check = _check(atom)
    # A clause about a type is false where the check that stands for it is unknown.
    if check is None or check.code not in _NEGATED or isinstance(atom, Operation):
        return None
    return Check(_NEGATED[check.code], check.operand, check.payload)


def _check(atom: Expression) -> Check | None:  # noqa: PLR0911 -- one per atom
    match atom:
        case Comparison(operand, operator, literal):
            return _comparison(operand, operator, literal)
        case StartsWith(operand, text):
            return Check(STARTS, operand, text.encode())
        case Has(path):
            return Check(HAS, path)
        case OneOf(operand, literals) if operand != CE:
            constants = [constant_of(each) for each in literals]
            if None in constants:
                return None
            return Check(ONE_OF, operand, tuple(sorted(set(constants), key=_by_form)))  # type: ignore[arg-type]
        case Includes(operand, literal) if operand != CE and type(literal.value) in _INCLUDED:
            constant = constant_of(literal)
            known = constant is not None and constant.tag != NO_KEY
            return Check(INCLUDES, operand, constant) if known else None
        case EndsWith(operand, text):
            return Check(ENDS, operand, text.encode())
        case Contains(operand, text):
            return Check(CONTAINS, operand, text.encode())
        case Operation("==", (Call("type", (Path() as operand,)), TypeName(name))) if operand != CE:
            return _of_type(operand, name)
        case _:
            return None


def _of_type(operand: Path, name: str) -> Check | None:
    match name:
        case "int":
            return Check(WITHIN, operand, ANY_INTEGER)
        case "bool":
            return Check(
                ONE_OF, operand, tuple(Constant(CONSTANT_KEY, b"", key) for key in (FALSE_KEY, TRUE_KEY))
            )
        case "string":
            return is_text(operand)
        case _:
            return None


def _comparison(operand: Operand, operator: Operator, literal: Literal) -> Check | None:
    if operand == CE:
        return None
    if operator is Operator.EQUAL:
        return _equality(operand, literal, EQUAL)
    if operator is Operator.NOT_EQUAL:
        return _equality(operand, literal, UNEQUAL)
    return _range(operand, operator, literal)


def _by_form(constant: Constant) -> tuple[int, bytes, int]:
    return constant.tag, constant.text, constant.number


def _equality(operand: Operand, literal: Literal, code: int) -> Check | None:
    constant = constant_of(literal)
    if constant is not None:
        return Check(code, operand, constant)
    number = literal.value
    if code == EQUAL and isinstance(number, int):
        at_least = interval_of(Operator.GREATER_OR_EQUAL, number)
        return Check(WITHIN, operand, at_least.intersection(interval_of(Operator.LESS_OR_EQUAL, number)))
    return None


def constant_of(literal: Literal) -> Constant | None:  # noqa: PLR0911 -- one per type
    """Return the constant of a literal; nothing for an integer whose nearest double isn't its own alone."""
    value = literal.value
    match value:
        case str():
            return Constant(STRING_KEY, value.encode())
        case None:
            return Constant(CONSTANT_KEY, number=NULL_KEY)
        case bool():
            return Constant(CONSTANT_KEY, number=TRUE_KEY if value else FALSE_KEY)
        case bytes():
            return Constant(NO_KEY)  # no value of an event is bytes
        case int() if not -EXACT < value < EXACT:
            return None
        case _ if math.isnan(value):
            return Constant(NO_KEY)
        case _:
            return Constant(NUMBER_KEY, number=double_bits(float(value)))


def constant_of_value(value: object) -> Constant | None:
    """Return the constant that an event's value is looked up by; nothing where it is equal to none."""
    match value:
        case int() if not isinstance(value, bool):
            return Constant(NUMBER_KEY, number=double_bits(float(value)))
        case None | bool() | str() | float():
            try:
                return constant_of(Literal(value))
            except UnicodeEncodeError:  # a lone surrogate, which no constant has
                return None
        case _:
            return None


def _range(operand: Operand, operator: Operator, literal: Literal) -> Check | None:
    value = literal.value
    if isinstance(value, str):
        text = value.encode()
        match operator:
            case Operator.LESS:
                return Check(BETWEEN, operand, Span(None, text, OPEN_ABOVE))
            case Operator.LESS_OR_EQUAL:
                return Check(BETWEEN, operand, Span(None, text))
            case Operator.GREATER:
                return Check(BETWEEN, operand, Span(text, None, OPEN_BELOW))
            case _:
                return Check(BETWEEN, operand, Span(text, None))
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return Check(WITHIN, operand, interval_of(operator, value))

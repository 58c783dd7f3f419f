"""From predicate trees to the one tree that all dialects share: the definition of what they mean.

An operand that the event doesn't have, or whose text can't be read as the number asked for, is unknown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.events.attributes import OFFICIAL
from headrace.filters.ir.construct import called, compared, contained
from headrace.filters.ir.expression import Not, all_of, any_of
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path, Text, attribute
from headrace.filters.ir.terms import ListOf
from headrace.filters.message import tree as message
from headrace.filters.message.like import Wildcard, parse_like
from headrace.filters.message.operators import Operator, ValueType

if TYPE_CHECKING:
    from headrace.filters.ir.expression import Expression

_REGEX_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")

_TIMES = {message.Time.EVENT: Path(("eventTime",)), message.Time.PUBLISH: Path(("publishTime",))}
_CASTS = {ValueType.LONG: "int", ValueType.DOUBLE: "double"}
_COMPARISONS = {
    Operator.EQUALS: "==",
    Operator.NOT_EQUALS: "!=",
    Operator.GREATER_THAN: ">",
    Operator.GREATER_THAN_EQUALS: ">=",
    Operator.LESS_THAN: "<",
    Operator.LESS_THAN_EQUALS: "<=",
}
_FUNCTIONS = {Operator.STARTS_WITH: "startsWith", Operator.CONTAINS: "contains"}
_FOLDED = {Operator.STARTS_WITH_IGNORE_CASE: "(?i)^", Operator.CONTAINS_IGNORE_CASE: "(?i)"}
_WILDCARDS = {Wildcard.RUN: ".*", Wildcard.ONE: "."}
_END = r"\z"  # `$` would mean the same in RE2, but in other engines also the place before a last newline
_OPPOSITES = {
    Operator.NOT_IN: Operator.IN,
    Operator.NOT_LIKE: Operator.LIKE,
    Operator.DOES_NOT_CONTAIN: Operator.CONTAINS,
    Operator.DOES_NOT_CONTAIN_IGNORE_CASE: Operator.CONTAINS_IGNORE_CASE,
}


def lower(tree: message.Expr) -> Expression:
    """Return what the tree means, over the variables `ce`, `publishTime` and `eventTime`."""
    match tree:
        case message.And(parts):
            return all_of(tuple(map(lower, parts)))
        case message.Or(parts):
            return any_of(tuple(map(lower, parts)))
        case message.Not(part):
            return Not(lower(part))
        case message.Predicate():
            return _lower_predicate(tree)


def _lower_predicate(predicate: message.Predicate) -> Expression:
    operand = _operand(predicate)
    question, values = predicate.operator, predicate.values
    match question:
        case Operator.CONTAINS_ALL:
            return all_of(_each_contained(operand, values))
        case Operator.CONTAINS_ANY:
            return any_of(_each_contained(operand, values))
        case Operator.CONTAINS_NONE:
            return all_of(tuple(map(Not, _each_contained(operand, values))))
        case Operator.BETWEEN:
            low, high = map(Literal, values)
            return all_of((compared(operand, ">=", low), compared(operand, "<=", high)))
        case _ if question in _OPPOSITES:
            return Not(_lower_question(operand, _OPPOSITES[question], values))
        case _:
            return _lower_question(operand, question, values)


def _lower_question(operand: Expression, question: Operator, values: tuple[message.Value, ...]) -> Expression:
    if question is Operator.IN:
        return contained(operand, ListOf(tuple(map(Literal, values))))
    value = values[0]
    if question in _COMPARISONS:
        return compared(operand, _COMPARISONS[question], Literal(value))
    text = str(value)
    if question is Operator.LIKE:
        return _lower_like(operand, text)
    if question in _FUNCTIONS:
        return _asked(operand, _FUNCTIONS[question], text)
    return _asked(operand, "matches", _FOLDED[question] + _quoted(text))


def _lower_like(operand: Expression, pattern: str) -> Expression:
    match parse_like(pattern):
        case () | (str(),) as tokens:
            return compared(operand, "==", Literal("".join(map(str, tokens))))
        case (Wildcard.RUN,):
            return _asked(operand, "startsWith", "")
        case (str(text), Wildcard.RUN):
            return _asked(operand, "startsWith", text)
        case (Wildcard.RUN, str(text)):
            return _asked(operand, "endsWith", text)
        case (Wildcard.RUN, str(text), Wildcard.RUN):
            return _asked(operand, "contains", text)
        case tokens:
            regex = "".join(_quoted(each) if isinstance(each, str) else _WILDCARDS[each] for each in tokens)
            return _asked(operand, "matches", f"(?s)^{regex}{_END}")


def _operand(predicate: message.Predicate) -> Expression:
    """Return what the predicate looks at, read as the type of its operands."""
    if isinstance(predicate.reference, message.Time):
        time = _TIMES[predicate.reference]
        return called("double", (time,)) if predicate.value_type is ValueType.DOUBLE else time
    name = predicate.reference.name
    path = attribute(name)
    text = path if name in OFFICIAL else Text(path)
    cast = _CASTS.get(predicate.value_type)
    return text if cast is None else called(cast, (text,))


def _each_contained(operand: Expression, values: tuple[message.Value, ...]) -> tuple[Expression, ...]:
    return tuple(_asked(operand, "contains", str(value)) for value in values)


def _asked(operand: Expression, function: str, text: str) -> Expression:
    return called(function, (operand, Literal(text)))


def _quoted(text: str) -> str:
    return _REGEX_SPECIAL.sub(r"\\\g<0>", text)

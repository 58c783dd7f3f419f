"""Translate predicate trees to the tree that all dialects share. The translation defines what they mean.

An operand that the event lacks, or whose text can't be read as the number asked for, is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.events.attributes import OFFICIAL
from headrace.filters.backends.cel import write_cel
from headrace.filters.ir.construct import called, compared, contained
from headrace.filters.ir.expression import Not, all_of, any_of
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path, Text, attribute
from headrace.filters.ir.terms import ListOf
from headrace.filters.message import tree as message
from headrace.filters.message.operators import Operator, ValueType
from headrace.filters.rewrites.flatten import flatten
from headrace.filters.values.like import question_of, quoted, segments_of

if TYPE_CHECKING:
    from headrace.filters.ir.expression import Expression

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
_END = r"\z"  # in RE2 the same as `$`, which in other engines also matches before a final newline
_OPPOSITES = {
    Operator.NOT_IN: Operator.IN,
    Operator.NOT_LIKE: Operator.LIKE,
    Operator.DOES_NOT_CONTAIN: Operator.CONTAINS,
    Operator.DOES_NOT_CONTAIN_IGNORE_CASE: Operator.CONTAINS_IGNORE_CASE,
}


def translate(tree: message.Expr) -> Expression:
    """Return what the tree means, over the variables `ce`, `publishTime` and `eventTime`."""
    match tree:
        case message.And(parts):
            return all_of(tuple(map(translate, parts)))
        case message.Or(parts):
            return any_of(tuple(map(translate, parts)))
        case message.Not(part):
            return Not(translate(part))
        case message.Predicate():
            return _translate_predicate(tree)


def to_cel(tree: message.Expr) -> str:
    """Return the CEL text of a predicate tree."""
    return write_cel(flatten(translate(tree)))


def _translate_predicate(predicate: message.Predicate) -> Expression:
    operand = _operand(predicate)
    operator, values = predicate.operator, predicate.values
    match operator:
        case Operator.CONTAINS_ALL:
            return all_of(_each_contained(operand, values))
        case Operator.CONTAINS_ANY:
            return any_of(_each_contained(operand, values))
        case Operator.CONTAINS_NONE:
            return all_of(tuple(map(Not, _each_contained(operand, values))))
        case Operator.BETWEEN:
            low, high = map(Literal, values)
            return all_of((compared(operand, ">=", low), compared(operand, "<=", high)))
        case _ if operator in _OPPOSITES:
            return Not(_translate_operator(operand, _OPPOSITES[operator], values))
        case _:
            return _translate_operator(operand, operator, values)


def _translate_operator(
    operand: Expression, operator: Operator, values: tuple[message.Value, ...]
) -> Expression:
    if operator is Operator.IN:
        return contained(operand, ListOf(tuple(map(Literal, values))))
    value = values[0]
    if operator in _COMPARISONS:
        return compared(operand, _COMPARISONS[operator], Literal(value))
    text = str(value)
    if operator is Operator.LIKE:
        return _translate_like(operand, text)
    if operator in _FUNCTIONS:
        return _call(operand, _FUNCTIONS[operator], text)
    return _call(operand, "matches", _FOLDED[operator] + quoted(text))


def _translate_like(operand: Expression, pattern: str) -> Expression:
    first, *rest = segments_of(pattern)
    # `%%` means the same as `%`.
    segments = [first, *filter(lambda segment: segment.characters, rest[:-1]), *rest[-1:]]
    function, text = question_of(segments, end=_END)
    return compared(operand, "==", Literal(text)) if function == "==" else _call(operand, function, text)


def _operand(predicate: message.Predicate) -> Expression:
    """Return what the predicate compares, read as the type of the predicate's values."""
    if isinstance(predicate.reference, message.Time):
        time = _TIMES[predicate.reference]
        return called("double", (time,)) if predicate.value_type is ValueType.DOUBLE else time
    name = predicate.reference.name
    path = attribute(name)
    text = path if name in OFFICIAL else Text(path)
    cast = _CASTS.get(predicate.value_type)
    return text if cast is None else called(cast, (text,))


def _each_contained(operand: Expression, values: tuple[message.Value, ...]) -> tuple[Expression, ...]:
    return tuple(_call(operand, "contains", str(value)) for value in values)


def _call(operand: Expression, function: str, text: str) -> Expression:
    return called(function, (operand, Literal(text)))

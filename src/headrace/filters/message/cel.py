"""The CEL text of a predicate tree: the definition of what it means.

An operand that the event doesn't have, or whose text can't be read as the number asked for, is an error in CEL
and unknown here.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from headrace.events.attributes import OFFICIAL
from headrace.filters.message.like import Wildcard, parse_like
from headrace.filters.message.operators import Operator, ValueType
from headrace.filters.message.tree import And, Not, Or, Predicate, Property, Time

if TYPE_CHECKING:
    from headrace.filters.message.tree import Expr, Value

_SELECTOR = re.compile(r"(?!(?:true|false|null|in)\Z)[A-Za-z_][A-Za-z0-9_]*\Z")
_REGEX_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")

_TIMES = {Time.EVENT: "eventTime", Time.PUBLISH: "publishTime"}
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


def to_cel(tree: Expr) -> str:
    """Return the text, over the variables `ce`, `publishTime` and `eventTime`."""
    match tree:
        case And(parts):
            return " && ".join(_bracketed(part, And, Or) for part in parts)
        case Or(parts):
            return " || ".join(_bracketed(part, Or) for part in parts)
        case Not(part):
            return f"!({to_cel(part)})"
        case Predicate():
            return _write_predicate(tree)


def _bracketed(part: Expr, *looser: type) -> str:
    text = to_cel(part)
    return f"({text})" if isinstance(part, looser) or (And in looser and _has_alternatives(part)) else text


def _has_alternatives(part: Expr) -> bool:
    return isinstance(part, Predicate) and part.operator is Operator.CONTAINS_ANY and len(part.values) > 1


def _write_predicate(predicate: Predicate) -> str:
    operand = write_reference(predicate)
    question, values = predicate.operator, predicate.values
    match question:
        case Operator.CONTAINS_ALL:
            return " && ".join(f"{operand}.contains({_literal(value)})" for value in values)
        case Operator.CONTAINS_ANY:
            return " || ".join(f"{operand}.contains({_literal(value)})" for value in values)
        case Operator.CONTAINS_NONE:
            return " && ".join(f"!{operand}.contains({_literal(value)})" for value in values)
        case Operator.BETWEEN:
            low, high = map(_literal, values)
            return f"{operand} >= {low} && {operand} <= {high}"
        case _ if question in _OPPOSITES:
            return _negated(_write_question(operand, _OPPOSITES[question], values))
        case _:
            return _write_question(operand, question, values)


def _write_question(operand: str, question: Operator, values: tuple[Value, ...]) -> str:
    value = values[0]
    if question is Operator.IN:
        return f"{operand} in [{', '.join(map(_literal, values))}]"
    if question is Operator.LIKE:
        return _write_like(operand, str(value))
    if question in _FUNCTIONS:
        return f"{operand}.{_FUNCTIONS[question]}({_literal(value)})"
    if question in _FOLDED:
        return f"{operand}.matches({_literal(_FOLDED[question] + _quoted(str(value)))})"
    return f"{operand} {_COMPARISONS[question]} {_literal(value)}"


def _write_like(operand: str, pattern: str) -> str:
    match parse_like(pattern).tokens:
        case () | (str(),) as tokens:
            return f"{operand} == {_literal(''.join(map(str, tokens)))}"
        case (Wildcard.RUN,):
            return f'{operand}.startsWith("")'
        case (str(text), Wildcard.RUN):
            return f"{operand}.startsWith({_literal(text)})"
        case (Wildcard.RUN, str(text)):
            return f"{operand}.endsWith({_literal(text)})"
        case (Wildcard.RUN, str(text), Wildcard.RUN):
            return f"{operand}.contains({_literal(text)})"
        case tokens:
            regex = "".join(_quoted(each) if isinstance(each, str) else _WILDCARDS[each] for each in tokens)
            return f"{operand}.matches({_literal(f'(?s)^{regex}{_END}')})"


def write_reference(predicate: Predicate) -> str:
    """Return what the predicate looks at, read as the type of its operands."""
    match predicate.reference:
        case Property(name):
            path = f"ce.{name}" if _SELECTOR.match(name) else f'ce["{name}"]'
            text = path if name in OFFICIAL else f"string({path})"
        case time:
            return f"double({_TIMES[time]})" if predicate.value_type is ValueType.DOUBLE else _TIMES[time]
    cast = _CASTS.get(predicate.value_type)
    return text if cast is None else f"{cast}({text})"


def _negated(question: str) -> str:
    # A call ends in its bracket, and `!` binds looser than it; a comparison ends in its literal.
    return f"!{question}" if question.endswith(")") else f"!({question})"


def _literal(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    return _REGEX_SPECIAL.sub(r"\\\g<0>", text)

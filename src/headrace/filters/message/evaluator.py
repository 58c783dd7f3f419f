"""The meaning of a predicate tree in plain Python: slow, obvious, what its CEL text is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.events.attributes import OFFICIAL
from headrace.filters.ir.operands import Text, attribute
from headrace.filters.message.folding import fold
from headrace.filters.message.instants import milliseconds
from headrace.filters.message.like import parse_like
from headrace.filters.message.numbers import cel_double, cel_int
from headrace.filters.message.operators import Operator, ValueType
from headrace.filters.message.tree import And, Not, Or, Predicate, Property, Time
from headrace.filters.truth import UNKNOWN, Truth, conjunction, disjunction, negation
from headrace.filters.values import value_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.events.batch import Recorded
    from headrace.filters.message.tree import Expr, Reference

_QUESTIONS: dict[Operator, Callable[[Any, tuple[Any, ...]], bool]] = {
    Operator.EQUALS: lambda value, given: value == given[0],
    Operator.NOT_EQUALS: lambda value, given: value != given[0],
    Operator.IN: lambda value, given: any(value == each for each in given),
    Operator.NOT_IN: lambda value, given: all(value != each for each in given),
    Operator.GREATER_THAN: lambda value, given: value > given[0],
    Operator.GREATER_THAN_EQUALS: lambda value, given: value >= given[0],
    Operator.LESS_THAN: lambda value, given: value < given[0],
    Operator.LESS_THAN_EQUALS: lambda value, given: value <= given[0],
    Operator.BETWEEN: lambda value, given: given[0] <= value <= given[1],
    Operator.LIKE: lambda value, given: parse_like(given[0]).matches(value),
    Operator.NOT_LIKE: lambda value, given: not parse_like(given[0]).matches(value),
    Operator.CONTAINS_ALL: lambda value, given: all(each in value for each in given),
    Operator.CONTAINS_ANY: lambda value, given: any(each in value for each in given),
    Operator.CONTAINS_NONE: lambda value, given: not any(each in value for each in given),
    Operator.STARTS_WITH: lambda value, given: value.startswith(given[0]),
    Operator.STARTS_WITH_IGNORE_CASE: lambda value, given: fold(value).startswith(fold(given[0])),
    Operator.CONTAINS: lambda value, given: given[0] in value,
    Operator.CONTAINS_IGNORE_CASE: lambda value, given: fold(given[0]) in fold(value),
    Operator.DOES_NOT_CONTAIN: lambda value, given: given[0] not in value,
    Operator.DOES_NOT_CONTAIN_IGNORE_CASE: lambda value, given: fold(given[0]) not in fold(value),
}


def evaluate(tree: Expr, recorded: Recorded) -> Truth:
    """Say whether the tree holds on an event of the log, whose attributes are those of a valid event."""
    match tree:
        case And(parts):
            return conjunction(evaluate(part, recorded) for part in parts)
        case Or(parts):
            return disjunction(evaluate(part, recorded) for part in parts)
        case Not(part):
            return negation(evaluate(part, recorded))
        case Predicate(reference, question, values):
            value = _value(reference, tree.value_type, recorded)
            return UNKNOWN if value is None else _QUESTIONS[question](value, values)


def _value(reference: Reference, value_type: ValueType, recorded: Recorded) -> str | int | float | None:
    match reference:
        case Property(name):
            return _read(_text(name, recorded), value_type)
        case Time.PUBLISH:
            time: int | None = recorded.publish_time // 1000
        case Time.EVENT:
            written = recorded.event.time
            time = None if written is None else milliseconds(written)
    return float(time) if value_type is ValueType.DOUBLE and time is not None else time


def _text(name: str, recorded: Recorded) -> str | None:
    attributes = recorded.event.attributes
    if name in OFFICIAL:
        return attributes.get(name)  # type: ignore[return-value]  # of a valid event it is a string
    text = value_of(Text(attribute(name)), {"ce": attributes})
    return text if isinstance(text, str) else None


def _read(text: str | None, value_type: ValueType) -> str | int | float | None:
    if text is None or value_type is ValueType.STRING:
        return text
    return cel_int(text) if value_type is ValueType.LONG else cel_double(text)

"""Streamer's filters: a list of conditions `{"field": …, "op": …, "value": …}` that must all be true.

A field is a path in the event's data: `status` and `data.status` are the same, and `order.total` is nested. Fields that
start with `ce.` are attributes; `collection`, `tenant`, `type`, `publishTime` and `eventTime` are the variables of
these names. If a field is missing the filter is unknown, so it doesn't match.

`contains` tests a string for a text in it, and a list for an element.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.filters.ir import construct
from headrace.filters.ir.atoms import Comparison, Contains, Includes, OneOf, Operator
from headrace.filters.ir.expression import all_of
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path, attribute
from headrace.filters.ir.terms import Call, Operation, TypeName
from headrace.filters.values.documents import is_array
from headrace.filters.values.kinds import INT64

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.filters.dialects.dialect import ParseContext
    from headrace.filters.ir.expression import Expression

_MEMBERS = {"field", "op", "value"}
_VARIABLES = frozenset({"collection", "tenant", "publishTime", "eventTime"})
STRINGS = ("collection", "tenant")
"""Fields that are always strings."""
_STRINGS = frozenset(Path((name,)) for name in STRINGS)


def parse_streamer(body: object, context: ParseContext) -> Expression:
    """Parse a list of conditions, which matches if all of them are true."""
    if not is_array(body):
        raise context.fault("must be an array of {field, op, value}", body)
    return all_of(tuple(_condition(each, context.element(index)) for index, each in enumerate(body)))


def _condition(body: object, context: ParseContext) -> Expression:
    if not isinstance(body, Mapping) or set(body) != _MEMBERS:
        raise context.fault("must be an object with field, op and value", body)
    read = OPERATORS.get(body["op"]) if isinstance(body["op"], str) else None
    if read is None:
        raise context.member("op").fault(f"must be one of {', '.join(OPERATORS)}", body["op"])
    return read(_field(body["field"], context.member("field")), body["value"], context.member("value"))


def _field(name: object, context: ParseContext) -> Path:
    steps = tuple(context.text(name).split("."))
    if not all(steps):
        raise context.fault("must have a name before and after each dot", name)
    if steps == ("type",):
        return attribute("type")
    if steps[0] in _VARIABLES and len(steps) == 1:
        return Path(steps)
    if steps[0] in ("data", "ce"):
        if len(steps) == 1:
            raise context.fault(f"must name a field of {steps[0]}: {steps[0]}.name", name)
        return Path(steps)
    return Path(("data", *steps))


def _comparing(operator: Operator) -> Callable[[Path, object, ParseContext], Expression]:
    def read(path: Path, value: object, context: ParseContext) -> Expression:
        literal = _literal(path, value, context)
        if operator not in (Operator.EQUAL, Operator.NOT_EQUAL) and literal.value is None:
            raise context.fault("must be a value that has an order", value)
        return Comparison(path, operator, literal)

    return read


def _in(path: Path, value: object, context: ParseContext) -> Expression:
    if not is_array(value):
        raise context.fault("must be an array of strings, numbers and booleans", value)
    return OneOf(
        path, tuple(_literal(path, each, context.element(index)) for index, each in enumerate(value))
    )


def _contains(path: Path, value: object, context: ParseContext) -> Expression:
    literal = _literal(path, value, context)
    if not isinstance(literal.value, str):
        return Includes(path, literal)
    text = Contains(path, literal.value)
    if path in _STRINGS:
        return text
    is_list = construct.compared(Call("type", (path,)), "==", TypeName("list"))
    return Operation("?:", (is_list, Includes(path, literal), text))


OPERATORS: Mapping[str, Callable[[Path, object, ParseContext], Expression]] = {
    **{operator.value: _comparing(operator) for operator in Operator},
    "in": _in,
    "contains": _contains,
}


def _literal(path: Path, value: object, context: ParseContext) -> Literal:
    if path in _STRINGS and not isinstance(value, str):
        raise context.fault(f"{path.steps[0]} is a string, so this must be one", value)
    match value:
        case "" | None | bool():
            return Literal(value)
        case str():
            return Literal(context.text(value))
        case int() if value in INT64:
            return Literal(value)
        case int() | float() if abs(value) <= sys.float_info.max:
            return Literal(float(value))
        case _:
            raise context.fault("must be a string, a number, a boolean or null", value)

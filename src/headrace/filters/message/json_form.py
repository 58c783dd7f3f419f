"""Predicate trees as JSON.

    {"property": NAME, "op": OPERATOR, "value": VALUE}               a predicate with one operand
    {"ref": "publish_time", "op": OPERATOR, "values": [VALUE, …]}    a predicate with a list of operands
    {"and": [TREE, TREE, …]}    {"or": [TREE, TREE, …]}    {"not": TREE}

Strings are strings, 64-bit integers are longs, and all other numbers are doubles. In a list with a double all numbers
are doubles. `"type"` states the type, for writers that turn `1.0` into `1` or lose the last digits of a long; with it a
number may also be written as a string. Anything else is refused, including unknown members.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from headrace.errors import FilterError
from headrace.filters.bounds.limits import DEFAULT_LIMITS
from headrace.filters.message.faults import at
from headrace.filters.message.operands import read_operand
from headrace.filters.message.operators import MANY, Operator, ValueType
from headrace.filters.message.size import check_size, too_deep
from headrace.filters.message.tree import And, Not, Or, Predicate, Property, Time
from headrace.filters.values.documents import is_array
from headrace.filters.values.kinds import INT64
from headrace.filters.values.texts import shown

if TYPE_CHECKING:
    from headrace.filters.bounds.limits import Limits
    from headrace.filters.message.tree import Expr, Reference, Value

Json: TypeAlias = Mapping[str, Any]

_Choice = TypeVar("_Choice")

_CONNECTIVES: dict[str, type[And | Or]] = {"and": And, "or": Or}
_OPERATORS = {operator.value: operator for operator in Operator}
_TIMES = {time.value: time for time in Time}
_TYPES = {value_type.value: value_type for value_type in ValueType}


def to_json(tree: Expr) -> dict[str, Any]:
    """Return the tree as an object for any JSON library. Doubles carry their type."""
    match tree:
        case And(parts):
            return {"and": [to_json(part) for part in parts]}
        case Or(parts):
            return {"or": [to_json(part) for part in parts]}
        case Not(part):
            return {"not": to_json(part)}
        case Predicate(reference, operator, values):
            operands = {"values": list(values)} if operator in MANY else {"value": values[0]}
            typed = {"type": "double"} if tree.value_type is ValueType.DOUBLE else {}
            return {**_write_reference(reference), "op": operator.value, **operands, **typed}


def from_json(
    body: object, *, limits: Limits = DEFAULT_LIMITS, path: str = "message", depth: int = 1
) -> Expr:
    """Read a tree from decoded JSON, or raise `FilterError` with the path to the fault.

    `path` and `depth` are those of the tree in a larger filter.
    """
    tree = _read(body, path, depth, limits)
    check_size(tree, limits, path=path, depth=depth)
    return tree


def _write_reference(reference: Reference) -> dict[str, str]:
    if isinstance(reference, Property):
        return {"property": reference.name}
    return {"ref": reference.value}


def _read(body: object, path: str, depth: int, limits: Limits) -> Expr:
    if depth > limits.depth:
        raise too_deep(limits, path)
    if not isinstance(body, Mapping):
        raise _fault("a predicate must be an object", body, path)
    if len(body) == 1:
        ((name, inner),) = body.items()
        if name == "not":
            return Not(_read(inner, f"{path}.not", depth + 1, limits))
        if name in _CONNECTIVES:
            return _read_connective(name, inner, path, depth, limits)
    return _read_predicate(body, path)


def _read_connective(name: str, inner: object, path: str, depth: int, limits: Limits) -> Expr:
    path = f"{path}.{name}"
    if not is_array(inner) or len(inner) < 2:
        raise _fault("must be an array of at least two predicates", inner, path)
    parts = (_read(part, f"{path}[{index}]", depth + 1, limits) for index, part in enumerate(inner))
    return _CONNECTIVES[name](tuple(parts))


def _read_predicate(body: Json, path: str) -> Predicate:
    if "op" not in body:
        raise _fault("a predicate must have the member `op`, or be one of and, or, not", body, path)
    operator = _choice(_OPERATORS, body["op"], f"{path}.op")
    several = operator in MANY
    member = "values" if several else "value"
    reference = _read_reference(body, path)
    _check_members(body, {"property", "ref", "op", "type", member}, path)
    if member not in body:
        raise _fault(f"{operator.value} takes its operands in the member `{member}`", body, path)
    with at(f"{path}.{member}"):
        values = _read_values(body[member]) if several else (body[member],)
        if "type" in body:
            value_type = _choice(_TYPES, body["type"], f"{path}.type")
            values = tuple(_read_typed(value, value_type) for value in values)
        else:
            values = _read_untyped(values)
        return Predicate(reference, operator, values)


def _read_reference(body: Json, path: str) -> Reference:
    if ("property" in body) == ("ref" in body):
        raise _fault("a predicate must have either the member `property` or `ref`", body, path)
    if "ref" in body:
        return _choice(_TIMES, body["ref"], f"{path}.ref")
    with at(f"{path}.property"):
        return Property(body["property"])


def _check_members(body: Json, known: set[str], path: str) -> None:
    for name in body:
        if name not in known:
            raise FilterError(f"{shown(name)} is not a member of this predicate", path=path, value=name)


def _read_values(values: object) -> tuple[Value, ...]:
    if not is_array(values):
        raise FilterError(f"must be an array, not {shown(values)}", value=values)
    return tuple(values)


def _read_untyped(values: tuple[Any, ...]) -> tuple[Value, ...]:
    """Tell longs from doubles as far as JSON does: if one number is a double, all are."""
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return values
    are_longs = all(isinstance(value, int) and value in INT64 for value in values)
    return values if are_longs else tuple(map(_as_double, values))


def _read_typed(value: object, value_type: ValueType) -> Value:
    match value, value_type:
        case str(), _:
            return read_operand(value, value_type)
        case bool(), _:
            pass
        case int(), ValueType.LONG:
            return value
        case float(), ValueType.LONG if value.is_integer():
            return int(value)
        case int() | float(), ValueType.DOUBLE:
            return _as_double(value)
    raise FilterError(f"must be a {value_type.value}, not {shown(value)}", value=value)


def _as_double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise FilterError(f"{shown(value)} is beyond the range of doubles", value=value) from None


def _choice(choices: Mapping[str, _Choice], name: object, path: str) -> _Choice:
    if not isinstance(name, str) or name not in choices:
        raise _fault(f"must be one of {', '.join(choices)}", name, path)
    return choices[name]


def _fault(problem: str, value: object, path: str) -> FilterError:
    return FilterError(f"{problem}, not {shown(value)}", path=path, value=value)

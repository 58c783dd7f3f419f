"""Predicate trees as protobuf bytes, in either of the proposal's two forms.

What can't be decoded exactly is refused. Protobuf drops an unknown enum value and treats its field as absent, which
for a type means STRING: so a message with any unknown field is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from headrace.errors import FilterError
from headrace.filters.bounds.limits import DEFAULT_LIMITS
from headrace.filters.message.descriptors import MESSAGES, Version
from headrace.filters.message.faults import at
from headrace.filters.message.operands import read_operand, write_operand
from headrace.filters.message.operators import Operator, ValueType
from headrace.filters.message.size import check_size
from headrace.filters.message.tree import And, Not, Or, Predicate, Property, Time
from headrace.filters.values.texts import shown

if TYPE_CHECKING:
    from headrace.filters.bounds.limits import Limits
    from headrace.filters.message.descriptors import Messages
    from headrace.filters.message.tree import Expr, Reference

_OPERANDS = {"PREDICATE": {"predicate"}, "AND": {"left", "right"}, "OR": {"left", "right"}, "NOT": {"left"}}
_MAX_LEVELS = 98  # of the 100 that libraries allow, without the CommandSeek around and the Predicate inside
_CONNECTIVES: dict[str, type[And | Or]] = {"AND": And, "OR": Or}


def to_bytes(tree: Expr, version: Version = Version.REVISED) -> bytes:
    """Encode a tree. Refuse an operator that the version doesn't have; the other version may have it."""
    messages = MESSAGES[version]
    message = messages.Expr()
    write_expr(tree, message, messages)
    return serialize(message)


def from_bytes(data: bytes, version: Version = Version.REVISED, *, limits: Limits = DEFAULT_LIMITS) -> Expr:
    """Decode a tree, or raise `FilterError` with the path to the fault."""
    messages = MESSAGES[version]
    tree = read_expr(parse(messages.Expr, data, "expr"), messages, "expr")
    check_size(tree, limits, path="expr")
    return tree


def parse(kind: Any, data: bytes, path: str) -> Any:
    """Decode a message, without checking its required fields."""
    try:
        return kind.FromString(data)
    except DecodeError:
        raise FilterError(f"is not a message {kind.DESCRIPTOR.full_name}", path=path, value=data) from None


def serialize(message: Any) -> bytes:
    """Return the bytes of a message, always the same for equal messages."""
    return bytes(message.SerializeToString(deterministic=True))


def write_expr(tree: Expr, message: Any, messages: Messages, level: int = 1) -> None:
    """Fill a message with a tree. Connectives of many parts are halved, so that depth grows logarithmically.

    Refuse trees that are too deep for protobuf libraries to decode.
    """
    if level > _MAX_LEVELS:
        problem = f"is nested deeper than the {_MAX_LEVELS} levels that protobuf libraries decode"
        raise FilterError(problem, path="expr", limit="depth")
    match tree:
        case Predicate():
            setattr(message, messages.kind, message.PREDICATE)
            _write_predicate(tree, message.predicate, messages.version)
        case Not(part):
            setattr(message, messages.kind, message.NOT)
            write_expr(part, getattr(message, messages.left), messages, level + 1)
        case And(parts) | Or(parts):
            setattr(message, messages.kind, message.AND if isinstance(tree, And) else message.OR)
            half = len(parts) // 2
            for name, some in ((messages.left, parts[:half]), (messages.right, parts[half:])):
                part = some[0] if len(some) == 1 else type(tree)(some)
                write_expr(part, getattr(message, name), messages, level + 1)


def read_expr(message: Any, messages: Messages, path: str) -> Expr:
    """Return the tree of a message."""
    refuse_unknown(message, path)
    kind = message.ExprType.Name(required(message, messages.kind, path))
    names = {"predicate": "predicate", "left": messages.left, "right": messages.right}
    for role, name in names.items():
        if message.HasField(name) != (role in _OPERANDS[kind]):
            wanted = "needs" if role in _OPERANDS[kind] else "has no"
            raise FilterError(f"an expression of type {kind} {wanted} field `{name}`", path=path)
    if kind == "PREDICATE":
        return _read_predicate(message.predicate, f"{path}.predicate")
    left = read_expr(getattr(message, messages.left), messages, f"{path}.{messages.left}")
    if kind == "NOT":
        return Not(left)
    right = read_expr(getattr(message, messages.right), messages, f"{path}.{messages.right}")
    return _CONNECTIVES[kind]((left, right))


def required(message: Any, name: str, path: str) -> Any:
    """Return a required field, or raise `FilterError` if it is missing."""
    if not message.HasField(name):
        raise FilterError(f"the required field `{name}` is missing", path=path)
    return getattr(message, name)


def refuse_unknown(message: Any, path: str) -> None:
    """Refuse a message with a field, or an enum value, that this version of the proposal doesn't have."""
    fields: Any = UnknownFieldSet(message)
    for unknown in fields:
        field = message.DESCRIPTOR.fields_by_number.get(unknown.field_number)
        if field is None:
            raise FilterError(f"field {unknown.field_number} is unknown", path=path)
        problem = f"field `{field.name}` has an unknown value"
        raise FilterError(problem, path=path, value=unknown.data)


def _write_predicate(predicate: Predicate, message: Any, version: Version) -> None:
    operators = message.Operator
    if predicate.operator.name not in operators.keys():  # noqa: SIM118 -- not a mapping, it only has `keys`
        raise FilterError(
            f"{predicate.operator.value} does not exist in version {version.value} of the wire form",
            path="expr",
            value=predicate.operator.value,
        )
    match predicate.reference:
        case Property(name):
            message.ref, message.name = message.PROPERTY, name
        case Time.EVENT:
            message.ref = message.EVENT_TIME
        case Time.PUBLISH:
            message.ref = message.PUBLISH_TIME
    message.op = operators.Value(predicate.operator.name)
    message.values.extend(map(write_operand, predicate.values))
    message.ty = message.ValueType.Value(predicate.value_type.name)


def _read_predicate(message: Any, path: str) -> Predicate:
    refuse_unknown(message, path)
    reference = _read_reference(message, path)
    operator = Operator[message.Operator.Name(required(message, "op", path))]
    value_type = ValueType[message.ValueType.Name(message.ty)]
    with at(f"{path}.values"):
        texts = map(_text, message.values)
        return Predicate(reference, operator, tuple(read_operand(text, value_type) for text in texts))


def _read_reference(message: Any, path: str) -> Reference:
    ref = required(message, "ref", path)
    if (ref == message.PROPERTY) != message.HasField("name"):
        problem = "a property needs the field `name`" if ref == message.PROPERTY else "a time has no `name`"
        raise FilterError(problem, path=path)
    if ref == message.EVENT_TIME:
        return Time.EVENT
    if ref == message.PUBLISH_TIME:
        return Time.PUBLISH
    with at(f"{path}.name"):
        return Property(_text(message.name))


def _text(value: str | bytes) -> str:
    """Check that a value is a text: protobuf returns bytes if it isn't valid UTF-8."""
    if isinstance(value, bytes):
        raise FilterError(f"must be valid UTF-8, not {shown(value)}", value=value)
    return value

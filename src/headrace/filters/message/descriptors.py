"""The protobuf messages, built at import, without a compiler and for any protobuf runtime.

`filter_v1.proto` and `filter_v2.proto` are the same for other languages. The bytes of the two versions can't be told
apart, though enum values from 8 on mean different operators: the sender has to state the version.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

if TYPE_CHECKING:
    from collections.abc import Iterable

_Field = descriptor_pb2.FieldDescriptorProto


class Version(Enum):
    """The two wire forms of the proposal."""

    FIRST_DRAFT = 1
    REVISED = 2


_SHARED_OPERATORS = (
    "EQUALS",
    "NOT_EQUALS",
    "IN",
    "NOT_IN",
    "GREATER_THAN",
    "GREATER_THAN_EQUALS",
    "LESS_THAN",
    "LESS_THAN_EQUALS",
)
_OPERATORS = {
    Version.FIRST_DRAFT: (
        *_SHARED_OPERATORS,
        "STARTS_WITH",
        "STARTS_WITH_IGNORE_CASE",
        "CONTAINS",
        "CONTAINS_IGNORE_CASE",
        "DOES_NOT_CONTAIN",
        "DOES_NOT_CONTAIN_IGNORE_CASE",
        "CONTAINS_ANY",
        "CONTAINS_NONE",
    ),
    Version.REVISED: (
        *_SHARED_OPERATORS,
        "LIKE",
        "NOT_LIKE",
        "CONTAINS_ALL",
        "CONTAINS_ANY",
        "CONTAINS_NONE",
        "BETWEEN",
    ),
}
_EXPR_FIELDS = {Version.FIRST_DRAFT: ("tp", "op1", "op2"), Version.REVISED: ("ty", "lhs", "rhs")}


@dataclass(frozen=True, slots=True)
class Messages:
    """The message classes of one version, and the names of the fields of its `Expr`."""

    version: Version
    Expr: Any
    CommandSeek: Any
    kind: str
    left: str
    right: str


def file_descriptor(version: Version) -> descriptor_pb2.FileDescriptorProto:
    """Return the descriptor that the compiler would make of the version's .proto file."""
    package = f"headrace.message.v{version.value}"
    file = descriptor_pb2.FileDescriptorProto(
        name=f"headrace/filters/message/filter_v{version.value}.proto", package=package, syntax="proto2"
    )
    _add_predicate(file, version)
    _add_expr(file, version)
    _add_seek(file)
    return file


def _add_predicate(file: descriptor_pb2.FileDescriptorProto, version: Version) -> None:
    predicate = file.message_type.add(name="Predicate")
    _add_enum(predicate, "MessageRef", ("PROPERTY", "EVENT_TIME", "PUBLISH_TIME"))
    _add_enum(predicate, "Operator", _OPERATORS[version])
    _add_enum(predicate, "ValueType", ("STRING", "LONG", "DOUBLE"))
    of = f".{file.package}.Predicate"
    _add_field(predicate, 1, "required", _Field.TYPE_ENUM, "ref", of=f"{of}.MessageRef")
    _add_field(predicate, 2, "optional", _Field.TYPE_STRING, "name")
    _add_field(predicate, 3, "required", _Field.TYPE_ENUM, "op", of=f"{of}.Operator")
    _add_field(predicate, 4, "repeated", _Field.TYPE_STRING, "values")
    _add_field(predicate, 5, "optional", _Field.TYPE_ENUM, "ty", of=f"{of}.ValueType")


def _add_expr(file: descriptor_pb2.FileDescriptorProto, version: Version) -> None:
    kind, left, right = _EXPR_FIELDS[version]
    expr = file.message_type.add(name="Expr")
    _add_enum(expr, "ExprType", ("PREDICATE", "AND", "OR", "NOT"))
    of = f".{file.package}"
    _add_field(expr, 1, "required", _Field.TYPE_ENUM, kind, of=f"{of}.Expr.ExprType")
    _add_field(expr, 2, "optional", _Field.TYPE_MESSAGE, "predicate", of=f"{of}.Predicate")
    _add_field(expr, 3, "optional", _Field.TYPE_MESSAGE, left, of=f"{of}.Expr")
    _add_field(expr, 4, "optional", _Field.TYPE_MESSAGE, right, of=f"{of}.Expr")


def _add_seek(file: descriptor_pb2.FileDescriptorProto) -> None:
    message_id = file.message_type.add(name="MessageIdData")
    _add_field(message_id, 1, "required", _Field.TYPE_UINT64, "ledgerId")
    _add_field(message_id, 2, "required", _Field.TYPE_UINT64, "entryId")
    _add_field(message_id, 3, "optional", _Field.TYPE_INT32, "partition", default="-1")
    _add_field(message_id, 4, "optional", _Field.TYPE_INT32, "batch_index", default="-1")
    seek = file.message_type.add(name="CommandSeek")
    of = f".{file.package}"
    _add_field(seek, 1, "required", _Field.TYPE_UINT64, "consumer_id")
    _add_field(seek, 2, "required", _Field.TYPE_UINT64, "request_id")
    _add_field(seek, 3, "optional", _Field.TYPE_MESSAGE, "message_id", of=f"{of}.MessageIdData")
    _add_field(seek, 4, "optional", _Field.TYPE_UINT64, "message_publish_time")
    _add_field(seek, 5, "optional", _Field.TYPE_MESSAGE, "expression", of=f"{of}.Expr")


def _add_enum(message: descriptor_pb2.DescriptorProto, name: str, values: Iterable[str]) -> None:
    enum = message.enum_type.add(name=name)
    for number, value in enumerate(values):
        enum.value.add(name=value, number=number)


def _add_field(
    message: descriptor_pb2.DescriptorProto,
    number: int,
    label: str,
    kind: Any,
    name: str,
    *,
    of: str | None = None,
    default: str | None = None,
) -> None:
    message.field.add(
        name=name,
        number=number,
        label=_Field.Label.Value(f"LABEL_{label.upper()}"),
        type=kind,
        type_name=of,
        default_value=default,
    )


def _messages(version: Version) -> Messages:
    # A private pool: messages of the same names in another library don't conflict.
    pool = descriptor_pool.DescriptorPool()
    file = file_descriptor(version)
    pool.AddSerializedFile(file.SerializeToString())
    expr, seek = (
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{file.package}.{name}"))
        for name in ("Expr", "CommandSeek")
    )
    kind, left, right = _EXPR_FIELDS[version]
    return Messages(version, expr, seek, kind, left, right)


MESSAGES = {version: _messages(version) for version in Version}

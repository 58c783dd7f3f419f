"""Terms: what CEL can express beyond atoms. The value of a term may be of any type; as a clause it must be boolean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from headrace.filters.ir.node import Node

if TYPE_CHECKING:
    from headrace.filters.ir.expression import Expression


@dataclass(frozen=True, slots=True)
class Local(Node):
    """A variable of an enclosing macro."""

    name: str


@dataclass(frozen=True, slots=True)
class TypeName(Node):
    """A type as a value: `int` in `type(data.x) == int`."""

    name: str


@dataclass(frozen=True, slots=True)
class Select(Node):
    """`operand.key`, where the operand isn't a path: a path with a key is a longer path."""

    operand: Expression
    key: str


@dataclass(frozen=True, slots=True)
class HasKey(Node):
    """`has(operand.key)`, where the operand isn't a path."""

    operand: Expression
    key: str


@dataclass(frozen=True, slots=True)
class ListOf(Node):
    """`[first, second]`."""

    elements: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MapOf(Node):
    """`{key: value}`, with keys and values in the order of the text."""

    keys: tuple[Expression, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Operation(Node):
    """An operator and its operands: `+ - * / %`, comparisons, `in`, `[]`, `?:` and unary `-`."""

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call of CEL's standard library. The target of a member function is its first argument."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Macro(Node):
    """`range.name(variable, bodies)`: all, exists, exists_one, filter, map. Only `map` may have two bodies."""

    name: str
    range: Expression
    variable: str
    bodies: tuple[Expression, ...]


Term: TypeAlias = Local | TypeName | Select | HasKey | ListOf | MapOf | Operation | Call | Macro

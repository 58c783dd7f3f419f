"""Terms: what CEL can say beyond atoms. A term has a value of any type, a clause only where that is boolean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from headrace.filters.ir.node import Node

if TYPE_CHECKING:
    from headrace.filters.ir.expression import Expression


@dataclass(frozen=True, slots=True)
class Local(Node):
    """The variable of a macro around this term."""

    name: str


@dataclass(frozen=True, slots=True)
class TypeName(Node):
    """A type as a value: `int` in `type(data.x) == int`."""

    name: str


@dataclass(frozen=True, slots=True)
class Select(Node):
    """`operand.key`, where the operand is no path: a path and a key are a longer path."""

    operand: Expression
    key: str


@dataclass(frozen=True, slots=True)
class HasKey(Node):
    """`has(operand.key)`, where the operand is no path."""

    operand: Expression
    key: str


@dataclass(frozen=True, slots=True)
class ListOf(Node):
    """`[first, second]`."""

    elements: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MapOf(Node):
    """`{key: value}`, with the keys and the values in the order in which they are written."""

    keys: tuple[Expression, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Operation(Node):
    """An operator and its operands: `+ - * / %`, comparisons, `in`, `[]`, `?:` and, of one operand, `-`."""

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function of CEL's standard library. What member functions are called on is their first argument."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Macro(Node):
    """`range.name(variable, bodies)`: all, exists, exists_one, filter, map. `map` may have two bodies."""

    name: str
    range: Expression
    variable: str
    bodies: tuple[Expression, ...]


Term: TypeAlias = Local | TypeName | Select | HasKey | ListOf | MapOf | Operation | Call | Macro

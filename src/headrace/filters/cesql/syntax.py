"""The tree of a CESQL expression.

Nodes are frozen and hashable. Equality ignores `position`, the position of a node in the text: an expression written
with other blanks, brackets or case is an equal tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Positioned:
    """The base class of all nodes."""

    position: int = field(default=0, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class String(Positioned):
    """A string literal, without quotes and escapes."""

    value: str


@dataclass(frozen=True, slots=True)
class Integer(Positioned):
    """A 32-bit integer literal, including its sign."""

    value: int


@dataclass(frozen=True, slots=True)
class Boolean(Positioned):
    """`TRUE` or `FALSE`."""

    value: bool


@dataclass(frozen=True, slots=True)
class Attribute(Positioned):
    """The value of an attribute or extension. The name is in lower case."""

    name: str


@dataclass(frozen=True, slots=True)
class Exists(Positioned):
    """`EXISTS name`. Never an error."""

    name: str


@dataclass(frozen=True, slots=True)
class Not(Positioned):
    """`NOT operand`; `x NOT LIKE p` and `x NOT IN s` are the `Not` of the plain forms."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Minus(Positioned):
    """`-operand`. The minus of a literal belongs to the literal."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Like(Positioned):
    """`operand LIKE 'pattern'`. The pattern keeps its own escapes, `\\%` and `\\_`."""

    operand: Node
    pattern: str


@dataclass(frozen=True, slots=True)
class In(Positioned):
    """`operand IN (elements)`, with one or more elements."""

    operand: Node
    elements: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Arithmetic(Positioned):
    """`left operator right`, the operator one of `* / % + -`."""

    left: Node
    operator: str
    right: Node


@dataclass(frozen=True, slots=True)
class Comparison(Positioned):
    """`left operator right`, the operator one of `= != < <= > >=`; `<>` is read as `!=`."""

    left: Node
    operator: str
    right: Node


@dataclass(frozen=True, slots=True)
class Logic(Positioned):
    """Two or more operands of one of `AND OR XOR`, evaluated from left to right.

    The first operand is never a `Logic` of the same operator: `(a AND b) AND c` is one node of three operands.
    """

    operator: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Call(Positioned):
    """A function's invocation. The name is in upper case, and may be that of no known function."""

    name: str
    arguments: tuple[Node, ...]


Literal: TypeAlias = String | Integer | Boolean
Node: TypeAlias = (
    Literal | Attribute | Exists | Not | Minus | Like | In | Arithmetic | Comparison | Logic | Call
)


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below, from left to right."""
    match node:
        case Not(operand) | Minus(operand) | Like(operand):
            return (operand,)
        case In(operand, elements):
            return (operand, *elements)
        case Arithmetic(left, _, right) | Comparison(left, _, right):
            return (left, right)
        case Logic(_, operands):
            return operands
        case Call(_, arguments):
            return arguments
        case _:
            return ()


def attributes_in(node: Node, *, always_read: bool = False) -> frozenset[str]:
    """Return the attributes that the node asks about; or those that it reads wherever it is evaluated."""
    if isinstance(node, Attribute) or (isinstance(node, Exists) and not always_read):
        return frozenset({node.name})
    if always_read and isinstance(node, Logic) and node.operator != "XOR":
        return attributes_in(node.operands[0], always_read=True)
    return frozenset().union(*(attributes_in(child, always_read=always_read) for child in children(node)))

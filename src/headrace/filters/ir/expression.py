"""The tree: constants and connectives over atoms and terms, read by Kleene's three-valued logic."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from headrace.filters.ir.atoms import Atom, Has
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.node import Node
from headrace.filters.ir.opaque import Opaque
from headrace.filters.ir.operands import CE, Operand, Path, Text
from headrace.filters.ir.terms import Call, HasKey, ListOf, Macro, MapOf, Operation, Select, Term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """True or false on every event."""

    value: bool


@dataclass(frozen=True, slots=True)
class Not(Node):
    """True where its part is false; unknown stays unknown."""

    part: Expression


@dataclass(frozen=True, slots=True)
class And(Node):
    """False where any part is false, else unknown where any is unknown. Has two parts or more."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or(Node):
    """True where any part is true, else unknown where any is unknown. Has two parts or more."""

    parts: tuple[Expression, ...]


Clause: TypeAlias = Atom | Term | Operand | Literal | Opaque
"""What stands between connectives. A clause that isn't boolean on an event is unknown there."""

Expression: TypeAlias = Constant | Not | And | Or | Clause


def all_of(parts: tuple[Expression, ...]) -> Expression:
    """Return the conjunction of any number of parts; of none it is true."""
    if not parts:
        return Constant(value=True)
    return parts[0] if len(parts) == 1 else And(parts)


def any_of(parts: tuple[Expression, ...]) -> Expression:
    """Return the disjunction of any number of parts; of none it is false."""
    if not parts:
        return Constant(value=False)
    return parts[0] if len(parts) == 1 else Or(parts)


def clauses_of(expression: Expression) -> list[Clause]:
    """List the clauses from left to right, each as often as it is written; what is inside a term counts as it."""
    match expression:
        case Constant():
            return []
        case Not(part):
            return clauses_of(part)
        case And(parts) | Or(parts):
            return [clause for part in parts for clause in clauses_of(part)]
        case _:
            return [expression]


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """Return the expressions directly inside this one."""
    find = _PARTS.get(type(expression))
    return () if find is None else find(expression)


_PARTS: Mapping[type, Callable[[Any], tuple[Expression, ...]]] = {
    Not: lambda node: (node.part,),
    And: attrgetter("parts"),
    Or: attrgetter("parts"),
    ListOf: attrgetter("elements"),
    Operation: attrgetter("operands"),
    Call: attrgetter("arguments"),
    Select: lambda node: (node.operand,),
    HasKey: lambda node: (node.operand,),
    MapOf: lambda node: node.keys + node.values,
    Macro: lambda node: (node.range, *node.bodies),
}


def nodes_of(expression: Expression) -> Iterator[Expression]:
    """Yield the expression and everything inside it, terms included, from left to right."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(parts_of(node)))


def paths_of(expression: Expression) -> Iterator[Path]:
    """Yield the paths that the expression looks at, as often as it does; opaque clauses look at any attribute."""
    for node in nodes_of(expression):
        looked_at = getattr(node, "operand", node)
        if isinstance(looked_at, Text | Has):
            yield looked_at.path
        elif isinstance(looked_at, Path):
            yield looked_at
        elif isinstance(looked_at, Opaque):
            yield CE

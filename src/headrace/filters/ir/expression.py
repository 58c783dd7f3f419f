"""The tree: constants and connectives over atoms and terms, in Kleene's three-valued logic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from headrace.filters.ir.atoms import Atom, Has
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.node import Node
from headrace.filters.ir.operands import Operand, Path, Text
from headrace.filters.ir.terms import Term

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """True or false on every event."""

    value: bool


@dataclass(frozen=True, slots=True)
class Not(Node):
    """True if its part is false; unknown if that is unknown."""

    part: Expression


@dataclass(frozen=True, slots=True)
class And(Node):
    """False if any part is false, else unknown if any is unknown. Has two or more parts."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or(Node):
    """True if any part is true, else unknown if any is unknown. Has two or more parts."""

    parts: tuple[Expression, ...]


Clause: TypeAlias = Atom | Term | Operand | Literal
"""An operand of connectives. A clause whose value on an event isn't boolean is unknown there."""

Expression: TypeAlias = Constant | Not | And | Or | Clause


def all_of(parts: tuple[Expression, ...]) -> Expression:
    """Return the conjunction of any number of parts; without parts it is true."""
    if not parts:
        return Constant(value=True)
    return parts[0] if len(parts) == 1 else And(parts)


def any_of(parts: tuple[Expression, ...]) -> Expression:
    """Return the disjunction of any number of parts; without parts it is false."""
    if not parts:
        return Constant(value=False)
    return parts[0] if len(parts) == 1 else Or(parts)


def clauses_of(expression: Expression) -> list[Clause]:
    """List the clauses from left to right, with repetitions. A term is one clause, whatever is inside it."""
    match expression:
        case Constant():
            return []
        case Not(part):
            return clauses_of(part)
        case And(parts) | Or(parts):
            return [clause for part in parts for clause in clauses_of(part)]
        case _:
            return [expression]


def with_parts(expression: Expression, rewrite: Callable[[Expression], Expression]) -> Expression:
    """Return a connective with each of its parts rewritten; return any other expression unchanged."""
    match expression:
        case Not(part):
            return Not(rewrite(part))
        case And(parts) | Or(parts):
            return type(expression)(tuple(map(rewrite, parts)))
        case _:
            return expression


def path_of(clause: Expression) -> Path | None:
    """Return the path that an atom, its negation or a path itself asks about; None for any other clause."""
    match clause:
        case Not(part):
            return path_of(part)
        case Path():
            return clause
        case Has(path):
            return path
        case _:
            operand = getattr(clause, "operand", None)
            if isinstance(operand, Text):
                return operand.path
            return operand if isinstance(operand, Path) else None

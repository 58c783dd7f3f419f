"""The tree: constants and connectives over atoms, read by Kleene's three-valued logic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from headrace.filters.ir.atoms import Atom, Comparison, EndsWith, Has, StartsWith
from headrace.filters.ir.node import Node


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


Expression: TypeAlias = Constant | Not | And | Or | Has | Comparison | StartsWith | EndsWith


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


def atoms_of(expression: Expression) -> list[Atom]:
    """List the atoms from left to right, each as often as it is written."""
    match expression:
        case Constant():
            return []
        case Not(part):
            return atoms_of(part)
        case And(parts) | Or(parts):
            return [atom for part in parts for atom in atoms_of(part)]
        case _:
            return [expression]

"""Atoms: the smallest clauses, each a question about one operand and constants.

What an atom can say is always said by that atom, never by a term: back ends know a clause by its class.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from headrace.filters.ir.node import Node

if TYPE_CHECKING:
    from headrace.filters.ir.literals import Literal
    from headrace.filters.ir.operands import Operand, Path


class Operator(Enum):
    """How a comparison compares, as CEL writes it."""

    EQUAL = "=="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="

    __hash__ = (
        object.__hash__
    )  # that of enumerations is a function in Python, and filters are hashed by the million


@dataclass(frozen=True, slots=True)
class Has(Node):
    """The last key of the path is in its map, whatever its value. Unknown only where that map isn't one."""

    path: Path


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """`operand operator literal`. Values of different types are unequal; ordering them is unknown."""

    operand: Operand
    operator: Operator
    literal: Literal


@dataclass(frozen=True, slots=True)
class OneOf(Node):
    """The operand equals one of the literals. Unknown only where the operand has no value."""

    operand: Operand
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Includes(Node):
    """The operand is a list with such an element, or a map with such a key. Unknown for anything else."""

    operand: Operand
    literal: Literal


@dataclass(frozen=True, slots=True)
class StartsWith(Node):
    """The operand is a string with this beginning. Unknown for anything but a string."""

    operand: Operand
    prefix: str


@dataclass(frozen=True, slots=True)
class EndsWith(Node):
    """The operand is a string with this ending. Unknown for anything but a string."""

    operand: Operand
    suffix: str


@dataclass(frozen=True, slots=True)
class Contains(Node):
    """The operand is a string with this text in it. Unknown for anything but a string."""

    operand: Operand
    text: str


@dataclass(frozen=True, slots=True)
class Matches(Node):
    """RE2 finds the pattern somewhere in the operand, a string. Unknown for anything but a string."""

    operand: Operand
    pattern: str


@dataclass(frozen=True, slots=True)
class MatchesGlob(Node):
    """The operand is a string and the whole of it fits the shell pattern. Unknown for anything but a string."""

    operand: Operand
    pattern: str


Atom: TypeAlias = (
    Has | Comparison | OneOf | Includes | StartsWith | EndsWith | Contains | Matches | MatchesGlob
)

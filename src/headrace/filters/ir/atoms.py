"""Atoms: the smallest clauses, each a question about one operand."""

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
class StartsWith(Node):
    """The operand is a string with this beginning. Unknown for anything but a string."""

    operand: Operand
    prefix: str


@dataclass(frozen=True, slots=True)
class EndsWith(Node):
    """The operand is a string with this ending. Unknown for anything but a string."""

    operand: Operand
    suffix: str


Atom: TypeAlias = Has | Comparison | StartsWith | EndsWith

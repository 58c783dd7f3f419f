"""Atoms: the smallest clauses, each of which tests one operand against constants.

Whatever an atom can express is expressed by that atom, never by a term: back ends dispatch on the class of a clause.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, TypeAlias, get_args

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

    # The hash of an Enum is computed in Python, and filters are hashed by the million.
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Has(Node):
    """The last key of the path is in its map, whatever its value. Unknown only if the path before it isn't a map."""

    path: Path


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """`operand operator literal`. Values of different types are unequal, and their order is unknown."""

    operand: Operand
    operator: Operator
    literal: Literal


@dataclass(frozen=True, slots=True)
class OneOf(Node):
    """The operand equals one of the literals. Unknown only if the operand has no value."""

    operand: Operand
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Includes(Node):
    """The operand is a list with such an element, or a map with such a key. Unknown for anything else."""

    operand: Operand
    literal: Literal


class StringTest(Node):
    """A test of a string operand against a text or a pattern, its `argument`. Unknown for anything but a string."""

    __slots__ = ()
    function: ClassVar[str]
    """The CEL function that says the same: `operand.function(argument)`."""
    operand: Operand

    @property
    def argument(self) -> str:
        """The text or the pattern."""
        argument: str = getattr(self, self.__match_args__[1])
        return argument


@dataclass(frozen=True, slots=True)
class StartsWith(StringTest):
    """The operand starts with this text."""

    function = "startsWith"
    operand: Operand
    prefix: str


@dataclass(frozen=True, slots=True)
class EndsWith(StringTest):
    """The operand ends with this text."""

    function = "endsWith"
    operand: Operand
    suffix: str


@dataclass(frozen=True, slots=True)
class Contains(StringTest):
    """The operand contains this text."""

    function = "contains"
    operand: Operand
    text: str


@dataclass(frozen=True, slots=True)
class Matches(StringTest):
    """RE2 finds the pattern somewhere in the operand."""

    function = "matches"
    operand: Operand
    pattern: str


@dataclass(frozen=True, slots=True)
class MatchesGlob(StringTest):
    """The whole operand matches the shell pattern."""

    function = "match"
    operand: Operand
    pattern: str


TextTest: TypeAlias = StartsWith | EndsWith | Contains | Matches | MatchesGlob
Atom: TypeAlias = Has | Comparison | OneOf | Includes | TextTest
ATOMS: tuple[type[Atom], ...] = get_args(Atom)
STRING_TESTS: tuple[type[TextTest], ...] = get_args(TextTest)

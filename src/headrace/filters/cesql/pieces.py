"""Pieces of CEL: nodes with the precedence, length and depth of their text.

The text isn't written. Its length is counted to give up in time on expressions whose translation would explode.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from headrace.filters.backends.cel import Level, write_cel, write_literal, write_operand
from headrace.filters.ir import construct, operands
from headrace.filters.ir import expression as ir
from headrace.filters.ir.atoms import Has
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.parts import parts_of
from headrace.filters.ir.terms import ListOf, Operation, TypeName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.filters.ir.expression import Expression
    from headrace.filters.values.cesql.errors import Value

_OPPOSITES: Mapping[str, str] = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

LONGEST = 10_000
DEEPEST = 24


class Inexpressible(Exception):
    """As clauses it would be longer or deeper than CEL's evaluators accept."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A node; length, precedence and depth of its text; the terms of a connective; both sides of a comparison.

    Equal if the nodes are.
    """

    node: Expression
    length: int = field(compare=False)
    level: int = field(default=Level.MEMBER, compare=False)
    depth: int = field(default=1, compare=False)
    terms: tuple[Piece, ...] = field(default=(), compare=False)
    compared: tuple[Piece, str, Piece] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.length > LONGEST or self.depth > DEEPEST:
            raise Inexpressible

    @property
    def condition(self) -> Expression:
        """The node as an operand of a connective."""
        return construct.condition(self.node)

    def within(self, level: int) -> int:
        """Return the length of the text inside an operator of that level, including brackets if they are needed."""
        return self.length if self.level >= level else self.length + 2


TRUE: Final = Piece(Literal(value=True), len("true"))
FALSE: Final = Piece(Literal(value=False), len("false"))
NULL: Final = Piece(Literal(value=None), len("null"))


def all_of(*parts: Piece) -> Piece:
    """Return the conjunction, without repeated terms."""
    return _joined(parts, Level.AND, ir.And, neutral=TRUE, final=FALSE)


def any_of(*parts: Piece) -> Piece:
    """Return the disjunction, without repeated terms."""
    return _joined(parts, Level.OR, ir.Or, neutral=FALSE, final=TRUE)


def negated(piece: Piece) -> Piece:
    """Return the negation of a condition."""
    if piece is TRUE or piece is FALSE:
        return FALSE if piece is TRUE else TRUE
    if piece.compared is not None:
        left, operator, right = piece.compared
        return relate(left, _OPPOSITES[operator], right)
    if piece.level == Level.UNARY and piece.terms:
        return piece.terms[0]
    length = piece.within(Level.UNARY) + 1
    return Piece(construct.negated(piece.node), length, Level.UNARY, piece.depth + 1, (piece,))


def relate(left: Piece, operator: str, right: Piece) -> Piece:
    """Return a comparison, or a test of membership."""
    length = left.within(Level.SUM) + len(operator) + 2 + right.within(Level.SUM)
    depth = max(left.depth, right.depth) + 1
    if operator == "in":
        return Piece(construct.contained(left.node, right.node), length, Level.RELATION, depth)
    node = construct.compared(left.node, operator, right.node)
    return Piece(node, length, Level.RELATION, depth, compared=(left, operator, right))


def choose(condition: Piece, yes: Piece, no: Piece) -> Piece:
    """Return `condition ? yes : no`."""
    node = Operation("?:", (construct.condition(condition.node), yes.node, no.node))
    length = condition.within(Level.OR) + yes.within(Level.OR) + no.within(Level.OR) + len(" ?  : ")
    return Piece(node, length, Level.CONDITIONAL, max(condition.depth, yes.depth, no.depth) + 1)


def call(function: str, argument: Piece) -> Piece:
    """Return `function(argument)`."""
    length = len(function) + argument.length + 2
    return Piece(construct.called(function, (argument.node,)), length, depth=argument.depth + 1)


def term(node: Expression) -> Piece:
    """Return the piece of a call that was made elsewhere."""
    return Piece(node, len(write_cel(node)), depth=_height(node))


def _height(node: Expression) -> int:
    return 1 + max(map(_height, parts_of(node)), default=0)


def ask(target: Piece, method: str, argument: str) -> Piece:
    """Return `target.method("argument")`."""
    text = literal(argument)
    length = target.within(Level.MEMBER) + len(method) + text.length + len(".()")
    return Piece(construct.called(method, (target.node, text.node)), length, depth=target.depth + 1)


def literal(value: Value) -> Piece:
    """Return a constant."""
    if isinstance(value, bool):
        return TRUE if value else FALSE
    is_negative = isinstance(value, int) and value < 0
    return Piece(Literal(value), len(write_literal(value)), Level.UNARY if is_negative else Level.MEMBER)


def list_of(items: Sequence[Piece]) -> Piece:
    """Return a list of constants."""
    length = sum([item.length + 2 for item in items])
    return Piece(ListOf(tuple(item.node for item in items)), length, depth=2)


def attribute(name: str) -> Piece:
    """Return `ce.name`, or `ce["1st"]` if CEL's grammar forbids the selector."""
    path = operands.attribute(name)
    return Piece(path, len(write_operand(path)), depth=2)


def has(name: str) -> Piece:
    """Return the presence test of an attribute."""
    node = Has(operands.attribute(name))
    text = write_cel(node)
    is_call = text.startswith("has(")
    return Piece(node, len(text), Level.MEMBER if is_call else Level.RELATION, 3 if is_call else 2)


def type_in(value: Piece, *names: str) -> Piece:
    """Return the test that the value has one of these CEL types."""
    types = [Piece(TypeName(name), len(name)) for name in names]
    if len(types) == 1:
        return relate(call("type", value), "==", types[0])
    return relate(call("type", value), "in", list_of(types))


def _joined(
    parts: tuple[Piece, ...],
    level: int,
    connective: Callable[[tuple[Expression, ...]], Expression],
    *,
    neutral: Piece,
    final: Piece,
) -> Piece:
    if len(parts) == 1:
        return parts[0]
    found: dict[Piece, None] = {}
    for part in parts:
        for term in part.terms if part.level == level else (part,):
            if term is final:
                return final
            if term is not neutral:
                found[term] = None
    terms = tuple(found)
    if len(terms) < 2:
        return terms[0] if terms else neutral
    length = sum([term.within(level + 1) + 4 for term in terms]) - 4
    node = connective(tuple(construct.condition(term.node) for term in terms))
    return Piece(node, length, level, max([term.depth for term in terms]) + 1, terms)

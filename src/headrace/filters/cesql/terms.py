"""The meaning of CESQL: each operator and function is a call of the CEL function that defines it."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from headrace.filters.cesql.functions import FUNCTIONS
from headrace.filters.cesql.syntax import (
    Arithmetic,
    Attribute,
    Boolean,
    Comparison,
    Exists,
    In,
    Integer,
    Like,
    Logic,
    Minus,
    Not,
    String,
)
from headrace.filters.cesql.syntax import Call as Invocation
from headrace.filters.ir.atoms import Has
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import CE, attribute
from headrace.filters.ir.terms import Call, ListOf

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.filters.cesql.syntax import Node
    from headrace.filters.ir.expression import Expression

_OPERATORS: Mapping[str, str] = {
    "AND": "sqlAnd",
    "OR": "sqlOr",
    "XOR": "sqlXor",
    "=": "sqlEqual",
    "<": "sqlLess",
    "<=": "sqlLessOrEqual",
    ">": "sqlGreater",
    ">=": "sqlGreaterOrEqual",
    "+": "sqlAdd",
    "-": "sqlSubtract",
    "*": "sqlMultiply",
    "/": "sqlDivide",
    "%": "sqlRemainder",
}


def term_of(  # noqa: C901, PLR0911 -- one per node
    node: Node, present: frozenset[str] = frozenset()
) -> Expression:
    """Return the term with the value of the node, null where that is an error; never unknown.

    The attributes in `present` are those that need no test.
    """
    match node:
        case String(value) | Integer(value) | Boolean(value):
            return Literal(value)
        case Attribute(name):
            return attribute(name) if name in present else Call("sqlAttribute", (CE, Literal(name)))
        case Exists(name):
            return Has(attribute(name))
        case Not(operand):
            return Call("sqlNot", (term_of(operand, present),))
        case Minus(operand):
            return Call("sqlMinus", (term_of(operand, present),))
        case Like(operand, pattern):
            return Call("sqlLike", (term_of(operand, present), Literal(pattern)))
        case In(operand, elements):
            return Call("sqlIn", (term_of(operand, present), ListOf(_terms(elements, present))))
        case Comparison(left, "!=", right):
            return Call("sqlNot", (Call("sqlEqual", _terms((left, right), present)),))
        case Comparison(left, operator, right) | Arithmetic(left, operator, right):
            return Call(_OPERATORS[operator], _terms((left, right), present))
        case Logic(operator, operands):
            return _joined(_OPERATORS[operator], _terms(operands, present))
        case Invocation(name, arguments):
            return _call(name, _terms(arguments, present))
        case _:
            assert_never(node)


def _terms(nodes: Sequence[Node], present: frozenset[str]) -> tuple[Expression, ...]:
    return tuple(term_of(node, present) for node in nodes)


def _joined(function: str, operands: tuple[Expression, ...]) -> Expression:
    """Join operands in halves, which AND, OR and XOR allow: CEL's parser reads no deep nesting."""
    if len(operands) == 1:
        return operands[0]
    half = len(operands) // 2
    return Call(function, (_joined(function, operands[:half]), _joined(function, operands[half:])))


def _call(name: str, arguments: tuple[Expression, ...]) -> Expression:
    function = FUNCTIONS[name]
    if function.separate is not None:
        arguments = (*arguments[: function.separate], ListOf(arguments[function.separate :]))
    return Call(function.cel, arguments)

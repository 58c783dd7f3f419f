"""How dialects build nodes: whatever an atom can express becomes that atom, however it was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.filters.ir.atoms import STRING_TESTS, Comparison, Has, Includes, OneOf, Operator
from headrace.filters.ir.expression import And, Constant, Not, Or, all_of, any_of
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import CE, Path, Text
from headrace.filters.ir.terms import Call, HasKey, ListOf, Operation, Select

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.operands import Operand

_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_STRING_TESTS: Mapping[str, Callable[[Operand, str], Expression]] = {
    test.function: test for test in STRING_TESTS
}


def condition(expression: Expression) -> Expression:
    """Return the expression as an operand of a connective: there, true and false are constants."""
    if isinstance(expression, Literal) and isinstance(expression.value, bool):
        return Constant(expression.value)
    return expression


def negated(expression: Expression) -> Expression:
    """Return `!expression`."""
    part = condition(expression)
    return part.part if isinstance(part, Not) else Not(part)


def conjoined(left: Expression, right: Expression) -> Expression:
    """Return `left && right`, flat."""
    return all_of(_flat(And, condition(left)) + _flat(And, condition(right)))


def disjoined(left: Expression, right: Expression) -> Expression:
    """Return `left || right`, flat."""
    return any_of(_flat(Or, condition(left)) + _flat(Or, condition(right)))


def compared(left: Expression, symbol: str, right: Expression) -> Expression:
    """Return a comparison, with a constant on its right."""
    if isinstance(left, Path | Text) and isinstance(right, Literal):
        return Comparison(left, Operator(symbol), right)
    if isinstance(right, Path | Text) and isinstance(left, Literal):
        return Comparison(right, Operator(_MIRRORED[symbol]), left)
    return Operation(symbol, (left, right))


def contained(value: Expression, holder: Expression) -> Expression:
    """Return `value in holder`."""
    if isinstance(value, Path | Text) and isinstance(holder, ListOf):
        literals = tuple(each for each in holder.elements if isinstance(each, Literal))
        if len(literals) == len(holder.elements):
            return OneOf(value, literals)
    if isinstance(value, Literal) and isinstance(holder, Path | Text):
        # Only `ce` is certain to be a map and not a list.
        if holder == CE and isinstance(value.value, str):
            return Has(Path((*CE.steps, value.value)))
        return Includes(holder, value)
    return Operation("in", (value, holder))


def selected(operand: Expression, key: str) -> Expression:
    """Return `operand.key`."""
    return Path((*operand.steps, key)) if isinstance(operand, Path) else Select(operand, key)


def present(operand: Expression, key: str) -> Expression:
    """Return `has(operand.key)`."""
    return Has(Path((*operand.steps, key))) if isinstance(operand, Path) else HasKey(operand, key)


def indexed(operand: Expression, index: Expression) -> Expression:
    """Return `operand[index]`; a string index is the same as a selection."""
    if isinstance(index, Literal) and isinstance(index.value, str):
        return selected(operand, index.value)
    return Operation("[]", (operand, index))


def called(function: str, arguments: tuple[Expression, ...]) -> Expression:
    """Return the call of a function; the target of a member function is its first argument."""
    match function, arguments:
        case "string", (Path() as path,):
            return Text(path)
        case _, (Path() | Text() as operand, Literal(str() as text)) if function in _STRING_TESTS:
            return _STRING_TESTS[function](operand, text)
        case _:
            return Call(function, arguments)


def _flat(connective: type[And | Or], part: Expression) -> tuple[Expression, ...]:
    return part.parts if isinstance(part, connective) else (part,)

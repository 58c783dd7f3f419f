"""Compile an expression: each node becomes a Python function of the event's attributes.

The first error ends the evaluation, as the specification advises for filters, so a function either returns a value of
the node's type or raises `CesqlFault`.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from headrace.filters.cesql.casts import CASTS, INT32, ZEROS, type_of
from headrace.filters.cesql.faults import CesqlFault, ErrorKind, EvaluationError
from headrace.filters.cesql.functions import Failure, find_function, missing_function
from headrace.filters.cesql.syntax import (
    Arithmetic,
    Attribute,
    Boolean,
    Call,
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
from headrace.filters.values.arithmetic import quotient
from headrace.filters.values.kinds import INT64
from headrace.filters.values.like import matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.filters.cesql.casts import TypeName
    from headrace.filters.cesql.faults import Value
    from headrace.filters.cesql.functions import CesqlFunction
    from headrace.filters.cesql.syntax import Node

Attributes: TypeAlias = "Mapping[str, object]"
Run: TypeAlias = "Callable[[Attributes], Any]"

_EQUALITIES: Mapping[str, Callable[[object, object], bool]] = {"=": operator.eq, "!=": operator.ne}
_ORDERINGS: Mapping[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Program:
    """The function of a node and the type of its result; None if that depends on the event."""

    run: Run
    type: TypeName | None

    @property
    def zero(self) -> Value:
        """The value of the expression if an operand had an error."""
        return ZEROS[self.type or "Boolean"]


def program_of(node: Node) -> Program:
    """Compile a tree. Whatever is known before the evaluation is decided here."""
    return Program(_run(node), result_type(node))


def _run(node: Node) -> Run:
    match node:
        case String(value) | Integer(value) | Boolean(value):
            return lambda _: value
        case Attribute():
            return _read(node)
        case Exists(name):
            return lambda attributes: name in attributes
        case Not() | Like() | In() | Comparison() | Logic():
            return _predicate(node)
        case Minus() | Arithmetic():
            return _calculate(node)
        case Call(name, arguments):
            return _call(node, find_function(name, len(arguments)))
        case _:
            assert_never(node)


def result_type(node: Node) -> TypeName | None:
    """Return the type of the node's result; None if it depends on the event."""
    match node:
        case String(value) | Integer(value) | Boolean(value):
            return type_of(value)
        case Attribute():
            return None
        case Minus() | Arithmetic():
            return "Integer"
        case Call(name, arguments):
            function = find_function(name, len(arguments))
            return "Boolean" if function is None else function.returns
        case _:
            return "Boolean"


def _predicate(node: Not | Like | In | Comparison | Logic) -> Run:
    match node:
        case Not(operand):
            holds = _as("Boolean", operand)
            return lambda attributes: not holds(attributes)
        case Like(operand, pattern):
            text, matches = _as("String", operand), matcher(pattern)
            return lambda attributes: matches(text(attributes))
        case In():
            return _contain(node)
        case Comparison():
            return _order(node) if node.operator in _ORDERINGS else _equate(node)
        case Logic():
            return _LOGIC[node.operator]([_as("Boolean", operand) for operand in node.operands])


def _read(node: Attribute) -> Run:
    name = node.name
    missing = EvaluationError(ErrorKind.MISSING_ATTRIBUTE, f"the event has no {name}", node.position)

    def read(attributes: Attributes) -> Value:
        value = attributes.get(name)
        if isinstance(value, str | bool) or (isinstance(value, int) and value in INT64):
            return value
        if name not in attributes:
            raise CesqlFault(missing)
        # Extensions of CloudEvents 0.3 may hold any JSON value.
        problem = f"{name} is a {type(value).__name__}, for which CESQL has no type"
        raise CesqlFault(EvaluationError(ErrorKind.CAST, problem, node.position))

    return read


def _as(target: TypeName, node: Node) -> Run:
    """Return the evaluation of the node followed by a cast, if one is needed."""
    program = program_of(node)
    if program.type == target:
        return program.run
    run, cast, position = program.run, CASTS[target], node.position
    if isinstance(node, String | Integer | Boolean):
        return _cast_literal(node, target)
    return lambda attributes: cast(run(attributes), position)


def _cast_literal(node: String | Integer | Boolean, target: TypeName) -> Run:
    try:
        value = CASTS[target](node.value, node.position)
    except CesqlFault as fault:
        return partial(_raise_again, fault)
    return lambda _: value


def _raise_again(fault: CesqlFault, _attributes: Attributes) -> Value:
    # A new one each time: the traceback of a raised exception keeps growing.
    raise CesqlFault(fault.error)


def _equate(node: Comparison) -> Run:
    """Compare for equality, with the left operand cast to the type of the right one."""
    compare, position = _EQUALITIES[node.operator], node.left.position
    right = program_of(node.right)
    if right.type is not None:
        left, value = _as(right.type, node.left), right.run
        return lambda attributes: compare(left(attributes), value(attributes))
    left, value = program_of(node.left).run, right.run

    def equate(attributes: Attributes) -> bool:
        one = left(attributes)
        other = value(attributes)
        return compare(CASTS[type_of(other)](one, position), other)

    return equate


def _order(node: Comparison) -> Run:
    compare = _ORDERINGS[node.operator]
    left, right = _as("Integer", node.left), _as("Integer", node.right)
    return lambda attributes: compare(left(attributes), right(attributes))


def _contain(node: In) -> Run:
    """Test membership, with all elements cast to the type of the left operand: a set has no order to stop in."""
    left = program_of(node.operand).run
    elements = [(program_of(element).run, element.position) for element in node.elements]

    def contain(attributes: Attributes) -> bool:
        value = left(attributes)
        cast = CASTS[type_of(value)]
        return value in [cast(run(attributes), position) for run, position in elements]

    return (
        contain if not all(isinstance(each, String) for each in node.elements) else _in_strings(node, contain)
    )


def _in_strings(node: In, contain: Run) -> Run:
    """Look up strings in a set of strings, the common case; leave other types to `contain`."""
    left = program_of(node.operand).run
    wanted = frozenset(element.value for element in node.elements if isinstance(element, String))

    def contain_string(attributes: Attributes) -> bool:
        value = left(attributes)
        return value in wanted if isinstance(value, str) else bool(contain(attributes))

    return contain_string


def _all(operands: list[Run]) -> Run:
    def conjunction(attributes: Attributes) -> bool:
        # A loop is twice as fast as `all` over a generator.
        for holds in operands:  # noqa: SIM110
            if not holds(attributes):
                return False
        return True

    return conjunction


def _any(operands: list[Run]) -> Run:
    def disjunction(attributes: Attributes) -> bool:
        for holds in operands:  # noqa: SIM110
            if holds(attributes):
                return True
        return False

    return disjunction


def _odd(operands: list[Run]) -> Run:
    return lambda attributes: sum([holds(attributes) for holds in operands]) % 2 == 1


_LOGIC: Mapping[str, Callable[[list[Run]], Run]] = {"AND": _all, "OR": _any, "XOR": _odd}


def _calculate(node: Minus | Arithmetic) -> Run:
    if isinstance(node, Minus):
        number, at = _as("Integer", node.operand), node.position
        return lambda attributes: _int32(-number(attributes), at)
    left, right = _as("Integer", node.left), _as("Integer", node.right)
    calculate, position = _ARITHMETIC[node.operator], node.position

    def result(attributes: Attributes) -> int:
        return _int32(calculate(left(attributes), right(attributes), position), position)

    return result


def _divide(dividend: int, divisor: int, position: int) -> int:
    if divisor == 0:
        raise CesqlFault(EvaluationError(ErrorKind.MATH, "division by zero", position))
    return quotient(dividend, divisor)


def _remainder(dividend: int, divisor: int, position: int) -> int:
    return dividend - divisor * _divide(dividend, divisor, position)


_ARITHMETIC: Mapping[str, Callable[[int, int, int], int]] = {
    "*": lambda left, right, _: left * right,
    "/": _divide,
    "%": _remainder,
    "+": lambda left, right, _: left + right,
    "-": lambda left, right, _: left - right,
}


def _int32(number: int, position: int) -> int:
    if number in INT32:
        return number
    raise CesqlFault(EvaluationError(ErrorKind.MATH, f"{number} has more than 32 bits", position))


def _call(node: Call, function: CesqlFunction | None) -> Run:
    if function is None:
        return _refuse(node)
    body = function.body
    takes = [*function.takes, *[function.more] * (len(node.arguments) - len(function.takes))]
    arguments = [_as(target, each) for target, each in zip(takes, node.arguments, strict=True) if target]

    def call(attributes: Attributes) -> Value:
        values = [argument(attributes) for argument in arguments]
        try:
            return body(*values)
        except Failure as failure:
            raise failure.at(node) from None

    return call


def _refuse(node: Call) -> Run:
    def refuse(_: Attributes) -> Value:
        raise missing_function(node)

    return refuse

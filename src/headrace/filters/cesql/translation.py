"""Translate CESQL to CEL, where CEL can express it exactly."""

from __future__ import annotations

import re
from functools import lru_cache, reduce
from typing import TYPE_CHECKING

from headrace.events.attributes import OFFICIAL_BY_VERSION, REQUIRED
from headrace.filters.backends.cel import write_cel
from headrace.filters.cesql import pieces as cel
from headrace.filters.cesql.casts import CASTS, INT32, ZEROS, type_of
from headrace.filters.cesql.conditions import (
    Condition,
    Guarded,
    condition_of,
    conjunction,
    disjunction,
    exclusion,
    negation,
)
from headrace.filters.cesql.faults import CesqlFault
from headrace.filters.cesql.functions import find_function
from headrace.filters.cesql.pieces import FALSE, TRUE, Inexpressible, all_of, any_of, literal, relate
from headrace.filters.cesql.program import program_of, result_type
from headrace.filters.cesql.syntax import (
    Arithmetic,
    Attribute,
    Call,
    Comparison,
    Exists,
    In,
    Like,
    Logic,
    Minus,
    Not,
    String,
    children,
)
from headrace.filters.ir.literals import Literal
from headrace.filters.values.like import question_of, segments_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.filters.cesql.casts import TypeName
    from headrace.filters.cesql.expression import Expression
    from headrace.filters.cesql.faults import Value
    from headrace.filters.cesql.pieces import Piece
    from headrace.filters.cesql.syntax import Node

_CEL_TYPES: Mapping[TypeName, str] = {"String": "string", "Integer": "int", "Boolean": "bool"}
# Filters use few different attributes.
_KEPT = 512
_TRUE_TEXT = "[tT][rR][uU][eE]"
_FALSE_TEXT = "[fF][aA][lL][sS][eE]"
_INTEGER_TEXT = "^[+-]?0*[0-9]{1,10}$"
_MAY_BE_NO_STRING = re.compile(r"-?[0-9]+|true|false")
_EQUALITIES: Mapping[str, str] = {"=": "==", "!=": "!="}


def translate(root: Node) -> Piece | None:
    """Return the CEL that is true exactly where the expression passes, and false everywhere else.

    That applies to valid events: the presence of required attributes isn't tested. Return None if CEL can't express
    it: LOWER, UPPER, TRIM, LEFT, RIGHT, SUBSTRING, ABS, CONCAT_WS of attributes; equality in which an extension's type
    decides to what the other side is cast; texts too long or too deep for CEL's evaluators.
    """
    try:
        if isinstance(root, Attribute):
            return _passing_attribute(root)
        return _condition(root).true if result_type(root) == "Boolean" else FALSE
    except Inexpressible:
        return None


def to_cel(expression: Expression) -> str | None:
    """Return the CEL text of an expression; None if CEL can't express it."""
    piece = translate(expression.root)
    return None if piece is None else write_cel(piece.node)


def _passing_attribute(node: Attribute) -> Piece:
    if node.name in OFFICIAL_BY_VERSION["1.0"]:
        return FALSE
    return all_of(cel.has(node.name), relate(cel.attribute(node.name), "==", TRUE))


def _condition(node: Node) -> Condition:
    match node:
        case Not(operand):
            return negation(_condition(operand))
        case Logic(operator, operands):
            return reduce(_CONNECTIVES[operator], map(_condition, operands))
        case _:
            return condition_of(_cast(node, "Boolean"))


_CONNECTIVES: Mapping[str, Callable[[Condition, Condition], Condition]] = {
    "AND": conjunction,
    "OR": disjunction,
    "XOR": exclusion,
}


def _value(node: Node) -> Guarded:
    if _is_constant(node):
        return _folded(node)
    match node:
        case Attribute(name):
            return _attribute(name)
        case Not() | Logic():
            return _single(_condition(node))
        case Minus() | Arithmetic():
            return _calculation(node)
        case Call():
            return _call(node)
        case _:
            return _predicate(node)


def _predicate(node: Node) -> Guarded:
    match node:
        case Exists(name):
            return Guarded(cel.has(name), "Boolean")
        case Like(operand, pattern):
            return _like(operand, pattern)
        case In(operand, elements):
            return _in(operand, elements)
        case Comparison(left, operator, right) if operator in _EQUALITIES:
            return _equality(left, _EQUALITIES[operator], right)
        case Comparison(left, operator, right):
            return _related(_cast(left, "Integer"), operator, _cast(right, "Integer"), "Boolean")
        case _:
            raise Inexpressible


def _is_constant(node: Node) -> bool:
    if isinstance(node, Attribute | Exists):
        return False
    return all(_is_constant(child) for child in children(node))


def _folded(node: Node, target: TypeName | None = None) -> Guarded:
    """Return the value of a node without attributes; an error becomes a guard that is never true."""
    program = program_of(node)
    known = target or program.type
    try:
        value = program.run({})
        return _constant(value if target is None else CASTS[target](value, node.position))
    except CesqlFault:
        return Guarded(literal(ZEROS[known or "Boolean"]), known, (FALSE,))


def _constant(value: Value) -> Guarded:
    return Guarded(literal(value), type_of(value))


@lru_cache(_KEPT)
def _attribute(name: str) -> Guarded:
    """Return the value of an attribute. Official ones are strings; the type of an extension depends on the event."""
    value = cel.attribute(name)
    if name in REQUIRED:
        return Guarded(value, "String")
    if name in OFFICIAL_BY_VERSION["1.0"]:
        return Guarded(value, "String", (cel.has(name),))
    return Guarded(value, None, (cel.has(name),), (cel.type_in(value, "string", "int", "bool"),))


def _single(condition: Condition) -> Guarded:
    if condition.guarded is None:
        raise Inexpressible
    return condition.guarded


def _related(left: Guarded, operator: str, right: Guarded, result: TypeName) -> Guarded:
    present, typed = (*left.present, *right.present), (*left.typed, *right.typed)
    return Guarded(relate(left.value, operator, right.value), result, present, typed)


def _cast(node: Node, target: TypeName) -> Guarded:
    if isinstance(node, Attribute):
        return _cast_attribute(node.name, target)
    return _folded(node, target) if _is_constant(node) else _converted(_value(node), target)


@lru_cache(_KEPT)
def _cast_attribute(name: str, target: TypeName) -> Guarded:
    return _converted(_attribute(name), target)


def _converted(it: Guarded, target: TypeName) -> Guarded:
    if it.type == target:
        return it
    value, typed = _CONVERSIONS[target](it.value, it.type)
    return Guarded(value, target, it.present, (*it.typed, *typed))


def _to_string(value: Piece, _given: TypeName | None) -> tuple[Piece, tuple[Piece, ...]]:
    return cel.call("string", value), ()


def _to_integer(value: Piece, given: TypeName | None) -> tuple[Piece, tuple[Piece, ...]]:
    number = cel.call("int", value)
    one_or_zero = cel.choose(value, literal(1), literal(0))
    if given == "Boolean":
        return one_or_zero, ()
    digits = cel.ask(value, "matches", _INTEGER_TEXT)
    if given == "String":
        return number, (digits, *_in_range(number))
    is_integer, is_boolean = cel.type_in(value, "int"), cel.type_in(value, "bool")
    castable = any_of(is_boolean, all_of(any_of(is_integer, digits), *_in_range(number)))
    return cel.choose(is_boolean, one_or_zero, number), (castable,)


def _to_boolean(value: Piece, given: TypeName | None) -> tuple[Piece, tuple[Piece, ...]]:
    not_zero = relate(value, "!=", literal(0))
    if given == "Integer":
        return not_zero, ()
    says_true = cel.ask(value, "matches", f"^{_TRUE_TEXT}$")
    says_either = cel.ask(value, "matches", f"^(?:{_TRUE_TEXT}|{_FALSE_TEXT})$")
    if given == "String":
        return says_true, (says_either,)
    is_string, is_integer = cel.type_in(value, "string"), cel.type_in(value, "int")
    boolean = any_of(relate(value, "==", TRUE), all_of(is_integer, not_zero), all_of(is_string, says_true))
    return boolean, (any_of(cel.negated(is_string), says_either),)


_CONVERSIONS: Mapping[TypeName, Callable[[Piece, TypeName | None], tuple[Piece, tuple[Piece, ...]]]] = {
    "String": _to_string,
    "Integer": _to_integer,
    "Boolean": _to_boolean,
}


def _in_range(number: Piece) -> tuple[Piece, Piece]:
    return relate(number, ">=", literal(INT32.start)), relate(number, "<=", literal(INT32.stop - 1))


def _calculation(node: Minus | Arithmetic) -> Guarded:
    """Calculate with CEL's 64 bits, in which no CESQL operation overflows, and check the range of 32 bits."""
    if isinstance(node, Minus):
        result = _related(_constant(0), "-", _cast(node.operand, "Integer"), "Integer")
        return _bounded(result, ())
    left, right = _cast(node.left, "Integer"), _cast(node.right, "Integer")
    divides = node.operator in "/%"
    guards = (relate(right.value, "!=", literal(0)),) if divides else ()
    return _bounded(_related(left, node.operator, right, "Integer"), guards)


def _bounded(result: Guarded, guards: tuple[Piece, ...]) -> Guarded:
    typed = (*result.typed, *guards, *_in_range(result.value))
    return Guarded(result.value, "Integer", result.present, typed)


def _call(node: Call) -> Guarded:
    function = find_function(node.name, len(node.arguments))
    if function is None:
        return Guarded(FALSE, "Boolean", (FALSE,))
    match node.name:
        case "INT" | "BOOL" | "STRING":
            return _cast(node.arguments[0], function.returns)
        case "LENGTH":
            text = _cast(node.arguments[0], "String")
            return Guarded(cel.call("size", text.value), "Integer", text.present, text.typed)
        case "CONCAT":
            texts = [_cast(argument, "String") for argument in node.arguments]
            return reduce(lambda left, right: _related(left, "+", right, "String"), texts)
        case _:
            raise Inexpressible


def _equality(left: Node, operator: str, right: Node) -> Guarded:
    """Compare for equality, with the left operand cast to the type of the right one."""
    other = _value(right)
    if other.type is not None:
        plain = _attribute_equal(left, other) if _is_constant(right) else None
        one = plain or _related(_cast(left, other.type), "==", other, "Boolean")
    elif _is_constant(left):
        one = _among_constants(other, [left])
    else:
        raise Inexpressible
    if operator == "==":
        return one
    return Guarded(cel.negated(one.value), "Boolean", one.present, one.typed)


def _attribute_equal(left: Node, right: Guarded) -> Guarded | None:
    """Compare an extension with a constant that only a string can equal, without a cast; None for other operands."""
    if not isinstance(left, Attribute) or right.type != "String" or right.guards:
        return None
    it, constant = _attribute(left.name), right.value.node
    if it.type is not None or not isinstance(constant, Literal):
        return None
    if _MAY_BE_NO_STRING.fullmatch(str(constant.value)):
        return None
    return Guarded(relate(it.value, "==", right.value), "Boolean", it.present, it.typed, sure=True)


def _in(operand: Node, elements: tuple[Node, ...]) -> Guarded:
    """Test membership, with all elements cast to the type of the left operand."""
    it = _value(operand)
    if it.type is None:
        return _among_constants(it, elements)
    cast = [_cast(element, it.type) for element in elements]
    present = (*it.present, *(guard for each in cast for guard in each.present))
    typed = (*it.typed, *(guard for each in cast for guard in each.typed))
    if all(_is_constant(element) for element in elements):
        return Guarded(_member(it.value, [each.value for each in cast]), "Boolean", present, typed)
    equal = any_of(*(relate(it.value, "==", each.value) for each in cast))
    return Guarded(equal, "Boolean", present, typed)


def _among_constants(it: Guarded, elements: Sequence[Node]) -> Guarded:
    """Test an extension for constants, cast to each type that all of them can be cast to: only events tell its type."""
    if not all(map(_is_constant, elements)):
        raise Inexpressible
    taken = {target: [_cast(element, target) for element in elements] for target in ZEROS}
    types = [target for target, cast in taken.items() if not any(each.guards for each in cast)]
    if not types:
        return Guarded(FALSE, "Boolean", (FALSE,))
    value = _member(it.value, [each.value for target in types for each in taken[target]])
    typed = cel.type_in(it.value, *(_CEL_TYPES[target] for target in types))
    # In CEL the integer 1 equals the double 1.0, which isn't a CESQL value: so not sure.
    return Guarded(value, "Boolean", it.present, (typed,), sure="Integer" not in types)


def _member(value: Piece, items: list[Piece]) -> Piece:
    distinct = list(dict.fromkeys(items))
    if len(distinct) == 1:
        return relate(value, "==", distinct[0])
    return relate(value, "in", cel.list_of(distinct))


def _like(operand: Node, pattern: str) -> Guarded:
    function, argument = question_of(segments_of(pattern))
    if function == "==":
        return _equality(operand, "==", String(argument))
    it = _cast(operand, "String")
    value = TRUE if pattern == "%" else cel.ask(it.value, function, argument)
    return Guarded(value, "Boolean", it.present, it.typed)

"""Translate CESQL to clauses: atoms where they can say it, so that an index can look them up, else calls.

`terms.py` defines what an expression means; this is the same in a form that says more to an index.
"""

from __future__ import annotations

import re
from functools import lru_cache, reduce
from typing import TYPE_CHECKING

from headrace.events.attributes import OFFICIAL_BY_VERSION, REQUIRED
from headrace.filters.backends.reference import value_of
from headrace.filters.cesql import pieces as cel
from headrace.filters.cesql.conditions import (
    Condition,
    Guarded,
    condition_of,
    conjunction,
    disjunction,
    negation,
)
from headrace.filters.cesql.functions import FUNCTIONS
from headrace.filters.cesql.pieces import FALSE, NULL, TRUE, Inexpressible, all_of, any_of, literal, relate
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
    attributes_in,
    children,
)
from headrace.filters.cesql.terms import term_of
from headrace.filters.ir import construct
from headrace.filters.ir.literals import Literal
from headrace.filters.values.cesql.casts import CASTS, INT32, known
from headrace.filters.values.cesql.errors import Failure
from headrace.filters.values.faults import Fault
from headrace.filters.values.like import question_of, segments_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.filters.cesql.pieces import Piece
    from headrace.filters.cesql.syntax import Node
    from headrace.filters.ir.expression import Expression

_REQUIRED = frozenset(REQUIRED)
_CEL_TYPES: Mapping[type, str] = {str: "string", int: "int", bool: "bool"}
# Filters use few different attributes.
_KEPT = 512
_TRUE_TEXT = "[tT][rR][uU][eE]"
_FALSE_TEXT = "[fF][aA][lL][sS][eE]"
_INTEGER_TEXT = "^[+-]?0*[0-9]{1,10}$"
_MAY_BE_NO_STRING = re.compile(r"-?[0-9]+|true|false")


def by_functions(root: Node) -> Expression:
    """Return the clause that is true exactly where the expression passes, and false everywhere else."""
    if isinstance(root, String | Integer):  # CEL refuses to compare it
        return FALSE.condition
    return construct.compared(term_of(root), "==", Literal(value=True))


def translate(root: Node) -> Piece | None:
    """Return the same in clauses, on every valid event: the presence of required attributes isn't tested.

    Return None if that is too long or too deep for CEL's evaluators.
    """
    try:
        if isinstance(root, Attribute):
            return _passing_attribute(root)
        return FALSE if _type_of(root) in (str, int) else _condition(root).true
    except Inexpressible:
        return None


def _passing_attribute(node: Attribute) -> Piece:
    if node.name in OFFICIAL_BY_VERSION["1.0"]:
        return FALSE
    return all_of(cel.has(node.name), relate(cel.attribute(node.name), "==", TRUE))


def _condition(node: Node) -> Condition:
    match node:
        case Not(operand):
            return negation(_condition(operand))
        case Comparison(left, "!=", right):
            return _unequal(Comparison(left, "=", right))
        case Logic("AND" | "OR" as operator, operands):
            return reduce(_CONNECTIVES[operator], map(_condition, operands))
        case _:
            guarded = _predicate(node)
            return _called(node) if guarded is None else condition_of(guarded)


_CONNECTIVES: Mapping[str, Callable[[Condition, Condition], Condition]] = {
    "AND": conjunction,
    "OR": disjunction,
}


def _unequal(equality: Comparison) -> Condition:
    guarded = _predicate(equality)
    return negation(_called(equality)) if guarded is None else condition_of(guarded.negated)


def _called(node: Node) -> Condition:
    """Return the condition by functions, with the presence of attributes as clauses of their own."""
    present, term = _term(node if _type_of(node) is bool else Call("BOOL", (node,)))
    true, false = (all_of(*present, relate(term, "==", truth)) for truth in (TRUE, FALSE))
    return Condition(true, false, if_not_true=false, if_not_false=true)


def _term(node: Node) -> tuple[tuple[Piece, ...], Piece]:
    names = attributes_in(node, always_read=True)
    present = tuple(cel.has(name) for name in sorted(names - _REQUIRED))
    return present, cel.term(term_of(node, names | _REQUIRED))


def _predicate(node: Node) -> Guarded | None:  # noqa: PLR0911 -- one per node
    """Return a Boolean in atoms; None if it needs functions."""
    match node:
        case Exists(name):
            return Guarded(cel.has(name), bool)
        case _ if _is_constant(node):
            return _folded(node, bool)
        case Like(operand, pattern) if _is_simple(operand):
            return _like(operand, pattern)
        case In(operand, elements) if _is_simple(operand) and all(map(_is_constant, elements)):
            return _in(operand, elements)
        case Comparison(left, "=", right):
            return _equality(left, right) if _is_simple(left) and _is_simple(right) else _result(left, right)
        case Comparison(left, operator, right) if _is_simple(left) and _is_simple(right):
            return _related(_cast(left, int), operator, _cast(right, int))
        case _:
            return _cast(node, bool) if _is_simple(node) else None


def _is_simple(node: Node) -> bool:
    """Return whether atoms can say it: an attribute, its cast, or a constant."""
    match node:
        case Attribute() | Call("INT" | "BOOL" | "STRING", (Attribute(),)):
            return True
        case _:
            return _is_constant(node)


def _is_constant(node: Node) -> bool:
    if isinstance(node, Attribute | Exists):
        return False
    return all(_is_constant(child) for child in children(node))


def _type_of(node: Node) -> type | None:
    """Return the type of the node's value; None if it depends on the event."""
    match node:
        case String() | Integer() | Boolean():
            return type(node.value)
        case Attribute():
            return None
        case Minus() | Arithmetic():
            return int
        case Call(name):
            return FUNCTIONS[name].returns
        case _:
            return bool


def _folded(node: Node, target: type | None = None) -> Guarded:
    """Return the value of a constant; an error becomes a guard that is never true."""
    try:
        value = node.value if isinstance(node, String | Integer | Boolean) else value_of(term_of(node), {})
        return _constant(known(value) if target is None else CASTS[target](value))
    except Failure:
        return Guarded(FALSE, target or _type_of(node), (FALSE,))
    except Fault:  # above the budget
        raise Inexpressible from None


def _constant(value: str | int | bool) -> Guarded:
    return Guarded(literal(value), type(value))


def _value(node: Node) -> Guarded:
    """Return the value of a simple node."""
    match node:
        case Attribute(name):
            return _attribute(name)
        case Call(name, (Attribute(argument),)):
            return _cast_attribute(argument, FUNCTIONS[name].returns)
        case _:
            return _folded(node)


@lru_cache(_KEPT)
def _attribute(name: str) -> Guarded:
    """Return the value of an attribute. Official ones are strings; the type of an extension depends on the event."""
    value = cel.attribute(name)
    if name in REQUIRED:
        return Guarded(value, str)
    if name in OFFICIAL_BY_VERSION["1.0"]:
        return Guarded(value, str, (cel.has(name),))
    return Guarded(value, None, (cel.has(name),), (cel.type_in(value, "string", "int", "bool"),))


def _related(left: Guarded, operator: str, right: Guarded) -> Guarded:
    present, typed = (*left.present, *right.present), (*left.typed, *right.typed)
    return Guarded(relate(left.value, operator, right.value), bool, present, typed)


def _cast(node: Node, target: type) -> Guarded:
    """Return the value of a simple node in another type."""
    if isinstance(node, Attribute):
        return _cast_attribute(node.name, target)
    return _folded(node, target) if _is_constant(node) else _converted(_value(node), target)


@lru_cache(_KEPT)
def _cast_attribute(name: str, target: type) -> Guarded:
    return _converted(_attribute(name), target)


def _converted(it: Guarded, target: type) -> Guarded:
    if it.type == target:
        return it
    value, typed = _CONVERSIONS[target](it.value, it.type)
    return Guarded(value, target, it.present, (*it.typed, *typed))


def _to_string(value: Piece, _given: type | None) -> tuple[Piece, tuple[Piece, ...]]:
    return cel.call("string", value), ()


def _to_integer(value: Piece, given: type | None) -> tuple[Piece, tuple[Piece, ...]]:
    number = cel.call("int", value)
    one_or_zero = cel.choose(value, literal(1), literal(0))
    if given is bool:
        return one_or_zero, ()
    digits = cel.ask(value, "matches", _INTEGER_TEXT)
    if given is str:
        return number, (digits, *_in_range(number))
    is_integer, is_boolean = cel.type_in(value, "int"), cel.type_in(value, "bool")
    castable = any_of(is_boolean, all_of(any_of(is_integer, digits), *_in_range(number)))
    return cel.choose(is_boolean, one_or_zero, number), (castable,)


def _to_boolean(value: Piece, given: type | None) -> tuple[Piece, tuple[Piece, ...]]:
    not_zero = relate(value, "!=", literal(0))
    if given is int:
        return not_zero, ()
    says_true = cel.ask(value, "matches", f"^{_TRUE_TEXT}$")
    says_either = cel.ask(value, "matches", f"^(?:{_TRUE_TEXT}|{_FALSE_TEXT})$")
    if given is str:
        return says_true, (says_either,)
    is_string, is_integer = cel.type_in(value, "string"), cel.type_in(value, "int")
    boolean = any_of(relate(value, "==", TRUE), all_of(is_integer, not_zero), all_of(is_string, says_true))
    return boolean, (any_of(cel.negated(is_string), says_either),)


_CONVERSIONS: Mapping[type, Callable[[Piece, type | None], tuple[Piece, tuple[Piece, ...]]]] = {
    str: _to_string,
    int: _to_integer,
    bool: _to_boolean,
}


def _in_range(number: Piece) -> tuple[Piece, Piece]:
    return relate(number, ">=", literal(INT32.start)), relate(number, "<=", literal(INT32.stop - 1))


def _equality(left: Node, right: Node) -> Guarded | None:
    """Compare for equality, with the left operand cast to the type of the right one."""
    other = _value(right)
    if other.type is not None:
        plain = _attribute_equal(left, other) if _is_constant(right) else None
        return plain or _related(_cast(left, other.type), "==", other)
    return _among_constants(other, [left]) if _is_constant(left) else None


def _result(left: Node, right: Node) -> Guarded | None:
    """Compare what a function returns with a constant of the same type; None for other operands."""
    constant = _folded(right) if _is_constant(right) else None
    if constant is None or constant.guards or constant.type is not _type_of(left):
        return None
    present, term = _term(left)
    typed = relate(term, "!=", NULL)
    return Guarded(relate(term, "==", constant.value), bool, present, (typed,), sure=True)


def _attribute_equal(left: Node, right: Guarded) -> Guarded | None:
    """Compare an extension with a constant that only a string can equal, without a cast; None for other operands."""
    if not isinstance(left, Attribute) or right.type is not str or right.guards:
        return None
    it, constant = _attribute(left.name), right.value.node
    if it.type is not None or not isinstance(constant, Literal):
        return None
    if _MAY_BE_NO_STRING.fullmatch(str(constant.value)):
        return None
    return Guarded(relate(it.value, "==", right.value), bool, it.present, it.typed, sure=True)


def _in(operand: Node, elements: tuple[Node, ...]) -> Guarded:
    """Test membership, with all elements cast to the type of the left operand."""
    it = _value(operand)
    if it.type is None:
        return _among_constants(it, elements)
    cast = [_cast(element, it.type) for element in elements]
    typed = (*it.typed, *(guard for each in cast for guard in each.guards))
    return Guarded(_member(it.value, [each.value for each in cast]), bool, it.present, typed)


def _among_constants(it: Guarded, elements: Sequence[Node]) -> Guarded:
    """Test an extension for constants, cast to each type that all of them can be cast to: only events tell its type."""
    taken = {target: [_cast(element, target) for element in elements] for target in CASTS}
    types = [target for target, cast in taken.items() if not any(each.guards for each in cast)]
    if not types:
        return Guarded(FALSE, bool, (FALSE,))
    value = _member(it.value, [each.value for target in types for each in taken[target]])
    typed = cel.type_in(it.value, *(_CEL_TYPES[target] for target in types))
    # In CEL the integer 1 equals the double 1.0, which isn't a CESQL value: so not sure.
    return Guarded(value, bool, it.present, (typed,), sure=int not in types)


def _member(value: Piece, items: list[Piece]) -> Piece:
    distinct = list(dict.fromkeys(items))
    if len(distinct) == 1:
        return relate(value, "==", distinct[0])
    return relate(value, "in", cel.list_of(distinct))


def _like(operand: Node, pattern: str) -> Guarded | None:
    function, argument = question_of(segments_of(pattern))
    if function == "==":
        return _equality(operand, String(argument))
    it = _cast(operand, str)
    value = TRUE if pattern == "%" else cel.ask(it.value, function, argument)
    return Guarded(value, bool, it.present, it.typed)

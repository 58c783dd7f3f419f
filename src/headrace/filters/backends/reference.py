"""The meaning of the tree in plain Python: slow, obvious, and the reference for every other back end."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.filters.ir.atoms import Comparison, EndsWith, Has, OneOf, Operator, StartsWith
from headrace.filters.ir.expression import And, Constant, Not, Or
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path, Text
from headrace.filters.ir.terms import (
    HasKey,
    Local,
    Macro,
    Operation,
    Select,
    TypeName,
)
from headrace.filters.ir.visitor import Visitor
from headrace.filters.truth import UNKNOWN, Truth, conjunction, disjunction, negation
from headrace.filters.values import maps
from headrace.filters.values.arithmetic import compute, negate
from headrace.filters.values.budget import (
    Budget,
    BudgetSpent,
    OverBudget,
    cost_of_call,
    cost_of_order,
    cost_of_sum,
    weight_of,
)
from headrace.filters.values.conversions import to_string
from headrace.filters.values.equality import equal, is_element, ordered
from headrace.filters.values.faults import Fault
from headrace.filters.values.functions import call
from headrace.filters.values.kinds import Kind, kind_of, named
from headrace.filters.values.paths import follow, is_present

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from headrace.filters.ir.expression import Expression
    from headrace.filters.variables import Variables


_EQUAL, _NOT_EQUAL = Operator.EQUAL.value, Operator.NOT_EQUAL.value


class Scope(NamedTuple):
    """The variables of the event and of the enclosing macros, and the budget of the enclosing clause, if any."""

    variables: Variables
    locals: Mapping[str, Any] = MappingProxyType({})
    budget: Budget | None = None
    overruns: list[str] | None = None

    def spend(self, steps: int) -> None:
        """Count steps before they are done. Outside of a clause with a budget everything is free."""
        if self.budget is not None:
            self.budget.spend(steps)


def evaluate(expression: Expression, variables: Variables, overruns: list[str] | None = None) -> Truth:
    """Return the value of a condition. Where CEL would report an error, it is unknown.

    Append a message to `overruns` for each clause that exceeds its budget.
    """
    return _truth(expression, Scope(variables, overruns=overruns))


def value_of(expression: Expression, variables: Variables) -> Any:
    """Return the value of an expression of any type, or raise the `Fault` for which it has none."""
    return _value(expression, Scope(variables))


def _truth(expression: Expression, scope: Scope) -> Truth:
    connect = _CONNECTIVES.get(type(expression))
    if connect is not None:
        return connect(expression, scope)
    try:
        value = _value(expression, scope)
    except (Fault, RecursionError):
        return UNKNOWN
    return value if value is True or value is False else UNKNOWN


def _value(expression: Expression, scope: Scope) -> Any:
    if scope.budget is None and _is_charged(expression):
        return _clause(expression, scope)
    try:
        find = _FUNCTIONS[type(expression)]
    except KeyError:
        find = _VALUES.function_for(expression)
    return find(expression, scope)


def _is_charged(clause: Expression) -> bool:
    """Return whether the clause has a budget. At the top `?:` is a connective: its parts are clauses of their own."""
    return type(clause) not in _FREE and not (isinstance(clause, Operation) and clause.operator == "?:")


def _clause(expression: Expression, scope: Scope) -> Any:
    inside = Scope(scope.variables, scope.locals, Budget(expression))
    try:
        return _value(expression, inside)
    except BudgetSpent as spent:
        if scope.overruns is not None:
            scope.overruns.append(str(spent))
        raise OverBudget(str(spent)) from None


def _comparison(atom: Comparison, scope: Scope) -> bool:
    return _compare(atom.operator.value, _value(atom.operand, scope), atom.literal.value, scope)


def _compare(symbol: str, left: Any, right: Any, scope: Scope) -> bool:
    if symbol == _EQUAL:
        return equal(left, right, scope.spend)
    if symbol == _NOT_EQUAL:
        return not equal(left, right, scope.spend)
    scope.spend(cost_of_order(left, right))
    return ordered(symbol, left, right)


def _one_of(atom: OneOf, scope: Scope) -> bool:
    value = _value(atom.operand, scope)
    return any(equal(value, literal.value) for literal in atom.literals)


def _includes(value: Any, holder: Any, scope: Scope) -> bool:
    match kind_of(holder):
        case Kind.LIST:
            return is_element(value, holder, scope.spend)
        case Kind.MAP:
            return maps.is_in(value, holder)
        case _:
            raise Fault(f"{named(holder)} has no elements")


def _select(term: Select, scope: Scope) -> Any:
    return maps.find(_map(term.operand, scope), term.key)


def _has_key(term: HasKey, scope: Scope) -> bool:
    return maps.is_in(term.key, _map(term.operand, scope))


def _map(operand: Expression, scope: Scope) -> Any:
    holder = _value(operand, scope)
    if kind_of(holder) is not Kind.MAP:
        raise Fault(f"{named(holder)} has no keys")
    return holder


def _operation(term: Operation, scope: Scope) -> Any:
    if term.operator == "?:":
        condition, then, otherwise = term.operands
        return _value(then if _decided(condition, scope) else otherwise, scope)
    values = [_value(operand, scope) for operand in term.operands]
    if len(values) == 1:
        return negate(values[0])
    left, right = values
    return _BINARY[term.operator](left, right, scope)


def _call(function: str, arguments: Sequence[Any], scope: Scope) -> Any:
    scope.spend(cost_of_call(function, arguments))
    return call(function, arguments)


def _sum(left: Any, right: Any, scope: Scope) -> Any:
    scope.spend(cost_of_sum(left, right))
    return compute("+", left, right)


def _computing(symbol: str) -> Callable[[Any, Any, Scope], Any]:
    return lambda left, right, _: compute(symbol, left, right)


def _comparing(symbol: str) -> Callable[[Any, Any, Scope], bool]:
    return lambda left, right, scope: _compare(symbol, left, right, scope)


_BINARY: Mapping[str, Callable[[Any, Any, Scope], Any]] = {
    "[]": lambda holder, key, _: maps.find(holder, key),
    "in": _includes,
    "+": _sum,
    **{symbol: _computing(symbol) for symbol in "-*/%"},
    **{operator.value: _comparing(operator.value) for operator in Operator},
}


def _loop(term: Macro, scope: Scope) -> Iterator[tuple[Any, Scope]]:
    """Yield each element of a list, or key of a map, with the scope in which the bodies are evaluated."""
    over = _value(term.range, scope)
    kind = kind_of(over)
    if kind is not Kind.LIST and kind is not Kind.MAP:
        raise Fault(f"{named(over)} has no elements")
    weight = weight_of(term)
    for element in over if kind is Kind.LIST else maps.keys_of(over):
        if scope.budget is not None:
            scope.budget.loop(weight)
        yield element, Scope(scope.variables, {**scope.locals, term.variable: element}, scope.budget)


def _all(term: Macro, scope: Scope) -> bool:
    return _certain(conjunction(_truth(term.bodies[0], inner) for _, inner in _loop(term, scope)))


def _exists(term: Macro, scope: Scope) -> bool:
    return _certain(disjunction(_truth(term.bodies[0], inner) for _, inner in _loop(term, scope)))


def _exists_one(term: Macro, scope: Scope) -> bool:
    return len(_filter(term, scope)) == 1


def _filter(term: Macro, scope: Scope) -> list[Any]:
    return [element for element, inner in _loop(term, scope) if _decided(term.bodies[0], inner)]


def _map_macro(term: Macro, scope: Scope) -> list[Any]:
    *conditions, body = term.bodies
    return [
        _value(body, inner)
        for _, inner in _loop(term, scope)
        if all(_decided(condition, inner) for condition in conditions)
    ]


def _decided(condition: Expression, scope: Scope) -> bool:
    value = _value(condition, scope)
    if value is True or value is False:
        return value
    raise Fault(f"a condition must be a bool, not {named(value)}")


def _certain(truth: Truth) -> bool:
    if truth is UNKNOWN:
        raise Fault("it is neither true nor false")
    return truth


_MACROS: Mapping[str, Callable[[Macro, Scope], Any]] = {
    "all": _all,
    "exists": _exists,
    "exists_one": _exists_one,
    "filter": _filter,
    "map": _map_macro,
}

_CONNECTIVES: Mapping[type, Callable[[Any, Scope], Truth]] = {
    Constant: lambda node, _: node.value,
    Not: lambda node, scope: negation(_truth(node.part, scope)),
    And: lambda node, scope: conjunction(_truth(part, scope) for part in node.parts),
    Or: lambda node, scope: disjunction(_truth(part, scope) for part in node.parts),
}

_VALUES: Visitor[[Scope], Any] = Visitor(
    constant=lambda node, _: node.value,
    negation=lambda node, scope: _certain(_truth(node, scope)),
    conjunction=lambda node, scope: _certain(_truth(node, scope)),
    disjunction=lambda node, scope: _certain(_truth(node, scope)),
    literal=lambda node, _: node.value,
    path=lambda node, scope: follow(node.steps, scope.variables),
    text=lambda node, scope: to_string(follow(node.path.steps, scope.variables)),
    has=lambda node, scope: is_present(node.path.steps, scope.variables),
    comparison=_comparison,
    one_of=_one_of,
    includes=lambda node, scope: _includes(node.literal.value, _value(node.operand, scope), scope),
    string_test=lambda node, scope: _call(node.function, (_value(node.operand, scope), node.argument), scope),
    local=lambda node, scope: scope.locals[node.name],
    type_name=lambda node, _: Kind(node.name),
    select=_select,
    has_key=_has_key,
    list_of=lambda node, scope: [_value(element, scope) for element in node.elements],
    map_of=lambda node, scope: maps.entries(
        zip(*([_value(each, scope) for each in side] for side in (node.keys, node.values)), strict=True)
    ),
    operation=_operation,
    call=lambda node, scope: _call(node.function, [_value(each, scope) for each in node.arguments], scope),
    macro=lambda node, scope: _MACROS[node.name](node, scope),
)
_FUNCTIONS = _VALUES.by_type

_FREE = frozenset(
    {
        Constant,
        Not,
        And,
        Or,
        Literal,
        Path,
        Text,
        Has,
        Comparison,
        OneOf,
        StartsWith,
        EndsWith,
        Local,
        TypeName,
    }
)

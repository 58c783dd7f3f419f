"""The meaning of the tree in plain Python: slow, obvious, and what every other back end is compared with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headrace.filters.ir.atoms import (
    Comparison,
    Contains,
    EndsWith,
    Has,
    Includes,
    Matches,
    MatchesGlob,
    OneOf,
    Operator,
    StartsWith,
)
from headrace.filters.ir.expression import And, Constant, Not, Or
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.opaque import Opaque
from headrace.filters.ir.operands import Path, Text
from headrace.filters.ir.terms import (
    Call,
    HasKey,
    ListOf,
    Local,
    Macro,
    MapOf,
    Operation,
    Select,
    TypeName,
)
from headrace.filters.truth import UNKNOWN, Truth, conjunction, disjunction, negation
from headrace.filters.values import maps
from headrace.filters.values.arithmetic import compute, negate
from headrace.filters.values.conversions import to_string
from headrace.filters.values.equality import equal, ordered
from headrace.filters.values.faults import Fault
from headrace.filters.values.functions import call
from headrace.filters.values.kinds import Kind, kind_of, named
from headrace.filters.values.paths import follow, is_present
from headrace.filters.variables import attributes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headrace.filters.ir.expression import Expression
    from headrace.filters.variables import Variables


BUDGET = 10_000
"""How often a macro may loop on one event, the macros inside it counted: as often as Google's evaluator does."""


class _BudgetSpent(Exception):
    """Ends the outermost macro: no connective inside it may take this for an ordinary fault."""


@dataclass(slots=True)
class _Budget:
    """Belongs to one evaluation of one outermost macro."""

    spent: int = 0

    def spend(self) -> None:
        self.spent += 1
        if self.spent >= BUDGET:
            raise _BudgetSpent


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables of the event and those of the macros around; the budget that these macros share."""

    variables: Variables
    locals: Mapping[str, Any] = field(default_factory=dict)
    budget: _Budget | None = None


def evaluate(expression: Expression, variables: Variables) -> Truth:
    """Say whether the expression holds. Where CEL would report an error, the answer is unknown."""
    return _truth(expression, Scope(variables))


def value_of(expression: Expression, variables: Variables) -> Any:
    """Return the value of an expression of any type, or raise the `Fault` that it has none."""
    return _value(expression, Scope(variables))


def _truth(expression: Expression, scope: Scope) -> Truth:  # noqa: PLR0911 -- one per node
    match expression:
        case Constant(value):
            return value
        case Not(part):
            return negation(_truth(part, scope))
        case And(parts):
            return conjunction(_truth(part, scope) for part in parts)
        case Or(parts):
            return disjunction(_truth(part, scope) for part in parts)
        case Opaque():
            return expression.truth(attributes_of(scope.variables))
        case _:
            try:
                value = _value(expression, scope)
            except (Fault, RecursionError):
                return UNKNOWN
            return value if value is True or value is False else UNKNOWN


def _value(expression: Expression, scope: Scope) -> Any:
    return _VALUES[type(expression)](expression, scope)


def _comparison(atom: Comparison, scope: Scope) -> bool:
    return _compare(atom.operator.value, _value(atom.operand, scope), atom.literal.value)


def _compare(symbol: str, left: Any, right: Any) -> bool:
    if symbol == Operator.EQUAL.value:
        return equal(left, right)
    if symbol == Operator.NOT_EQUAL.value:
        return not equal(left, right)
    return ordered(symbol, left, right)


def _one_of(atom: OneOf, scope: Scope) -> bool:
    value = _value(atom.operand, scope)
    return any(equal(value, literal.value) for literal in atom.literals)


def _includes(value: Any, holder: Any) -> bool:
    match kind_of(holder):
        case Kind.LIST:
            return any(equal(value, element) for element in holder)
        case Kind.MAP:
            return maps.is_in(value, holder)
        case _:
            raise Fault(f"nothing is in {named(holder)}")


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
    compare = _BINARY.get(term.operator)
    return compute(term.operator, *values) if compare is None else compare(*values)


def _comparing(symbol: str) -> Callable[[Any, Any], bool]:
    return lambda left, right: _compare(symbol, left, right)


_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "[]": maps.find,
    "in": _includes,
    **{operator.value: _comparing(operator.value) for operator in Operator},
}


def _macro(term: Macro, scope: Scope) -> Any:
    if scope.budget is not None:
        return _MACROS[term.name](term, scope)
    try:
        return _MACROS[term.name](term, replace(scope, budget=_Budget()))
    except _BudgetSpent:
        raise Fault(f"it loops {BUDGET} times or more, which the budget forbids") from None


def _loop(term: Macro, scope: Scope) -> Iterator[tuple[Any, Scope]]:
    """Yield each element of a list, or key of a map, with the scope in which the bodies see it."""
    over = _value(term.range, scope)
    kind = kind_of(over)
    if kind is not Kind.LIST and kind is not Kind.MAP:
        raise Fault(f"{named(over)} has no elements")
    for element in over if kind is Kind.LIST else [key for key, _ in maps.pairs_of(over)]:
        if scope.budget is not None:
            scope.budget.spend()
        yield element, replace(scope, locals={**scope.locals, term.variable: element})


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
    raise Fault(f"a condition is a bool, not {named(value)}")


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

_VALUES: Mapping[type, Callable[[Any, Scope], Any]] = {
    **dict.fromkeys((Constant, Not, And, Or), lambda node, scope: _certain(_truth(node, scope))),
    Literal: lambda node, _: node.value,
    Path: lambda node, scope: follow(node.steps, scope.variables),
    Text: lambda node, scope: to_string(follow(node.path.steps, scope.variables)),
    Has: lambda node, scope: is_present(node.path.steps, scope.variables),
    Comparison: _comparison,
    OneOf: _one_of,
    Includes: lambda node, scope: _includes(node.literal.value, _value(node.operand, scope)),
    StartsWith: lambda node, scope: call("startsWith", (_value(node.operand, scope), node.prefix)),
    EndsWith: lambda node, scope: call("endsWith", (_value(node.operand, scope), node.suffix)),
    Contains: lambda node, scope: call("contains", (_value(node.operand, scope), node.text)),
    Matches: lambda node, scope: call("matches", (_value(node.operand, scope), node.pattern)),
    MatchesGlob: lambda node, scope: call("match", (_value(node.operand, scope), node.pattern)),
    Local: lambda node, scope: scope.locals[node.name],
    TypeName: lambda node, _: Kind(node.name),
    Select: _select,
    HasKey: _has_key,
    ListOf: lambda node, scope: [_value(element, scope) for element in node.elements],
    MapOf: lambda node, scope: maps.entries(
        zip(*([_value(each, scope) for each in side] for side in (node.keys, node.values)), strict=True)
    ),
    Operation: _operation,
    Call: lambda node, scope: call(node.function, [_value(each, scope) for each in node.arguments]),
    Macro: _macro,
}

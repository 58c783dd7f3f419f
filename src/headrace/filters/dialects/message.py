"""The dialect `message`: predicate trees over properties and times, as JSON.

What a tree means is said by its CEL text (`headrace.filters.message.to_cel`). Here it becomes the one tree that
all dialects share, as far as that can say it; the rest is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import FilterError
from headrace.events.attributes import OFFICIAL
from headrace.filters.ir.atoms import Comparison, EndsWith, StartsWith
from headrace.filters.ir.atoms import Operator as Comparator
from headrace.filters.ir.expression import And, Not, Or, any_of
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path, Text, attribute
from headrace.filters.message import tree as message
from headrace.filters.message.json_form import from_json
from headrace.filters.message.like import Wildcard, parse_like
from headrace.filters.message.operators import Operator, ValueType

if TYPE_CHECKING:
    from headrace.filters.dialects.dialect import Place
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.operands import Operand

_COMPARATORS = {
    Operator.EQUALS: Comparator.EQUAL,
    Operator.NOT_EQUALS: Comparator.NOT_EQUAL,
    Operator.GREATER_THAN: Comparator.GREATER,
    Operator.GREATER_THAN_EQUALS: Comparator.GREATER_OR_EQUAL,
    Operator.LESS_THAN: Comparator.LESS,
    Operator.LESS_THAN_EQUALS: Comparator.LESS_OR_EQUAL,
}
_TIMES = {message.Time.EVENT: Path(("eventTime",)), message.Time.PUBLISH: Path(("publishTime",))}


def parse_message(body: object, place: Place) -> Expression:
    """Read the predicate tree and return what it means."""
    tree = from_json(body, limits=place.limits, path=place.path, depth=place.depth)
    return _lower(tree, place)


def _lower(tree: message.Expr, place: Place) -> Expression:
    match tree:
        case message.And(parts):
            return And(tuple(_lower(part, place) for part in parts))
        case message.Or(parts):
            return Or(tuple(_lower(part, place) for part in parts))
        case message.Not(part):
            return Not(_lower(part, place))
        case message.Predicate():
            expression = _lower_predicate(tree)
    if expression is None:
        problem = f"{tree.operator.value} with a {tree.value_type.value} can't be evaluated"
        raise FilterError(problem, path=place.path, value=tree.operator.value)
    return expression


def _lower_predicate(predicate: message.Predicate) -> Expression | None:
    operand = _operand(predicate)
    if operand is None:
        return None
    literals = tuple(map(Literal, predicate.values))
    comparator = _COMPARATORS.get(predicate.operator)
    if comparator is not None:
        return Comparison(operand, comparator, literals[0])
    match predicate.operator:
        case Operator.BETWEEN:
            low, high = literals
            bounds = Comparison(operand, Comparator.GREATER_OR_EQUAL, low)
            return And((bounds, Comparison(operand, Comparator.LESS_OR_EQUAL, high)))
        case Operator.IN:
            return _one_of(operand, literals)
        case Operator.NOT_IN:
            return Not(_one_of(operand, literals))
        case _:
            return _lower_text_question(operand, predicate.operator, str(predicate.values[0]))


def _lower_text_question(operand: Operand, operator: Operator, text: str) -> Expression | None:
    match operator:
        case Operator.STARTS_WITH:
            return StartsWith(operand, text)
        case Operator.LIKE:
            return _lower_like(operand, text)
        case Operator.NOT_LIKE:
            like = _lower_like(operand, text)
            return None if like is None else Not(like)
        case _:
            return None


def _lower_like(operand: Operand, pattern: str) -> Expression | None:
    match parse_like(pattern).tokens:
        case () | (str(),) as tokens:
            return Comparison(operand, Comparator.EQUAL, Literal("".join(map(str, tokens))))
        case (Wildcard.RUN,):
            return StartsWith(operand, "")
        case (str(text), Wildcard.RUN):
            return StartsWith(operand, text)
        case (Wildcard.RUN, str(text)):
            return EndsWith(operand, text)
        case _:
            return None


def _one_of(operand: Operand, literals: tuple[Literal, ...]) -> Expression:
    return any_of(tuple(Comparison(operand, Comparator.EQUAL, literal) for literal in literals))


def _operand(predicate: message.Predicate) -> Operand | None:
    """Return what is compared, or nothing where the text of a property would have to be read as a number."""
    if isinstance(predicate.reference, message.Time):
        return _TIMES[predicate.reference]
    if predicate.value_type is not ValueType.STRING:
        return None
    path = attribute(predicate.reference.name)
    return path if predicate.reference.name in OFFICIAL else Text(path)

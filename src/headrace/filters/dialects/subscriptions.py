"""The dialects that the CloudEvents Subscriptions API requires: exact, prefix, suffix, all, any, not."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from headrace.filters.dialects.attributes import attribute_name, present_and
from headrace.filters.dialects.dialect import is_array
from headrace.filters.ir.atoms import Comparison, EndsWith, Operator, StartsWith
from headrace.filters.ir.expression import Not, all_of, any_of
from headrace.filters.ir.literals import Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.filters.dialects.dialect import Place
    from headrace.filters.ir.atoms import Atom
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.operands import Operand


def parse_exact(body: object, place: Place) -> Expression:
    """Every attribute named equals its value."""
    return _parse_attributes(body, place, lambda value, at: Comparison(at, Operator.EQUAL, Literal(value)))


def parse_prefix(body: object, place: Place) -> Expression:
    """Every attribute named starts with its value."""
    return _parse_attributes(body, place, lambda value, at: StartsWith(at, value))


def parse_suffix(body: object, place: Place) -> Expression:
    """Every attribute named ends with its value."""
    return _parse_attributes(body, place, lambda value, at: EndsWith(at, value))


def parse_all(body: object, place: Place) -> Expression:
    """Every filter of the array holds."""
    return all_of(_parse_elements(body, place))


def parse_any(body: object, place: Place) -> Expression:
    """At least one filter of the array holds."""
    return any_of(_parse_elements(body, place))


def parse_not(body: object, place: Place) -> Expression:
    """Whatever filter stands inside does not hold."""
    return Not(place.nested(body))


def _parse_attributes(body: object, place: Place, ask: Callable[[str, Operand], Atom]) -> Expression:
    if not isinstance(body, Mapping) or not body:
        raise place.fault("must be an object of attribute names and values, with at least one", body)
    wanted = {attribute_name(name, place): place.member(name).text(value) for name, value in body.items()}
    # In the order of names: objects that differ in nothing but the order of their members are equal.
    return all_of(tuple(present_and(name, partial(ask, value)) for name, value in sorted(wanted.items())))


def _parse_elements(body: object, place: Place) -> tuple[Expression, ...]:
    if not is_array(body) or not body:
        raise place.fault("must be an array with at least one filter", body)
    return tuple(place.element(index).nested(spec) for index, spec in enumerate(body))

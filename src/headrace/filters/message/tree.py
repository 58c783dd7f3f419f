"""Predicate trees: frozen, hashable, and valid by construction.

Equal trees have the same meaning. `&`, `|` and `~` combine them; `and`, `or` and `not` can't, and raise. A connective
is never directly inside the same connective: `(a & b) & c == a & (b & c)`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from headrace.errors import FilterError
from headrace.filters.message.operators import ANY_TYPE, MANY, Operator, ValueType
from headrace.filters.values.kinds import INT64
from headrace.filters.values.texts import is_unicode, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

Value: TypeAlias = str | int | float

_VALUE_TYPES: dict[type, ValueType] = {str: ValueType.STRING, int: ValueType.LONG, float: ValueType.DOUBLE}
_ATTRIBUTE_NAME = re.compile(r"[a-z0-9]+\Z")


class Combinable:
    """A part of a tree, with the operators that combine parts."""

    __slots__ = ()

    def and_(self, other: Expr, *others: Expr) -> And:
        """Return the tree that is true where this one and all the others are."""
        return And((_checked(self), other, *others))

    def or_(self, other: Expr, *others: Expr) -> Or:
        """Return the tree that is true where this one or any of the others is."""
        return Or((_checked(self), other, *others))

    def not_(self) -> Not:
        """Return the tree that is true where this one is false, and unknown where this one is unknown."""
        return Not(_checked(self))

    def __and__(self, other: Expr) -> And:
        return self.and_(other) if isinstance(other, Combinable) else NotImplemented

    def __or__(self, other: Expr) -> Or:
        return self.or_(other) if isinstance(other, Combinable) else NotImplemented

    def __invert__(self) -> Not:
        return self.not_()

    def __bool__(self) -> bool:
        raise TypeError("a predicate has no truth value without an event; combine predicates with &, | and ~")


@dataclass(frozen=True, slots=True)
class Property:
    """An attribute or extension of the event."""

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _ATTRIBUTE_NAME.match(self.name):
            problem = f"a property's name consists of lower-case letters and digits, not {shown(self.name)}"
            raise FilterError(problem, value=self.name)
        if self.name == "data":
            raise FilterError(
                "a property must be an attribute, which the event's data isn't", value=self.name
            )


class Time(Enum):
    """A time of the event, in milliseconds since the epoch."""

    EVENT = "event_time"
    PUBLISH = "publish_time"


Reference: TypeAlias = Property | Time


@dataclass(frozen=True, slots=True)
class Predicate(Combinable):
    """`reference operator values`, with as many operands as the operator takes, all of one type.

    Equality includes `value_type`: in Python `1 == 1.0`, but `"1.5" < 2` reads an integer and `"1.5" < 2.0` a double.
    """

    reference: Reference
    operator: Operator
    values: tuple[Value, ...]
    value_type: ValueType = field(init=False)

    def __post_init__(self) -> None:
        _check_count(self.operator, self.values)
        value_type = _common_type(self.values)
        if value_type is not ValueType.STRING and self.operator not in ANY_TYPE:
            raise FilterError(f"{self.operator.value} takes strings only", value=self.values[0])
        if value_type is ValueType.STRING and isinstance(self.reference, Time):
            problem = (
                f"{self.reference.value} must be compared with a number of milliseconds, not with a string"
            )
            raise FilterError(problem, value=self.values[0])
        object.__setattr__(self, "value_type", value_type)


@dataclass(frozen=True, slots=True)
class And(Combinable):
    """False if any part is false, else unknown if any is unknown. Has two or more parts."""

    parts: tuple[Expr, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _merged(And, self.parts))


@dataclass(frozen=True, slots=True)
class Or(Combinable):
    """True if any part is true, else unknown if any is unknown. Has two or more parts."""

    parts: tuple[Expr, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _merged(Or, self.parts))


@dataclass(frozen=True, slots=True)
class Not(Combinable):
    """True if its part is false; unknown if that is unknown."""

    part: Expr

    def __post_init__(self) -> None:
        _checked(self.part)


Expr: TypeAlias = Predicate | And | Or | Not


def _merged(connective: type[And | Or], parts: Iterable[Expr]) -> tuple[Expr, ...]:
    merged: list[Expr] = []
    for part in map(_checked, parts):
        merged.extend(part.parts if isinstance(part, connective) else (part,))
    if len(merged) < 2:
        raise FilterError(f"{connective.__name__.lower()} combines at least two predicates", value=merged)
    return tuple(merged)


def _checked(part: object) -> Expr:
    if not isinstance(part, Predicate | And | Or | Not):
        raise FilterError(f"only predicates can be combined, not {shown(part)}", value=part)
    return part


def _check_count(operator: Operator, values: tuple[Value, ...]) -> None:
    if operator is Operator.BETWEEN:
        if len(values) != 2:
            raise FilterError(f"between takes two operands, not {len(values)}", value=values)
    elif operator in MANY:
        if not values:
            raise FilterError(f"{operator.value} takes at least one operand", value=values)
    elif len(values) != 1:
        raise FilterError(f"{operator.value} takes one operand, not {len(values)}", value=values)


def _common_type(values: tuple[Value, ...]) -> ValueType:
    types = {_value_type(value) for value in values}
    if len(types) > 1:
        names = " and ".join(sorted(each.value for each in types))
        raise FilterError(f"operands must be of one type, not of {names}", value=values)
    return types.pop()


def _value_type(value: object) -> ValueType:
    value_type = _VALUE_TYPES.get(type(value))
    if value_type is None:
        problem = f"an operand must be a string, an integer or a double, not {shown(value)}"
        raise FilterError(problem, value=value)
    if isinstance(value, int) and value not in INT64:
        raise FilterError(f"an integer operand must fit in 64 bits, not {shown(value)}", value=value)
    if isinstance(value, float) and not math.isfinite(value):
        raise FilterError(f"a double operand must be finite, not {value}", value=value)
    if isinstance(value, str) and not is_unicode(value):
        raise FilterError("a string operand must be valid Unicode, without lone surrogates", value=value)
    return value_type

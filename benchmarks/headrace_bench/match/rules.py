"""Rules in a form that belongs to no engine, and how Headrace, event-ruler and quamina write them.

A rule is a list of conditions on fields of the data that must all hold. Each language says it exactly or not at
all. `Written` is a rule that only Headrace's dialects can say.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from headrace.filters import Filter, compile_filter
from headrace.filters.ir.atoms import Comparison, Contains, Matches, Operator, StartsWith
from headrace.filters.ir.expression import all_of
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.filters.ir.expression import Expression

Field: TypeAlias = tuple[str, ...]
"""The keys from the top of the data to a value."""


@dataclass(frozen=True, slots=True)
class Equal:
    """The field is this text."""

    field: Field
    value: str


@dataclass(frozen=True, slots=True)
class Unequal:
    """The field is a text, and another one."""

    field: Field
    value: str


@dataclass(frozen=True, slots=True)
class Prefix:
    """The field is a text that starts like this."""

    field: Field
    value: str


@dataclass(frozen=True, slots=True)
class Within:
    """The field is a number from `low`, included, to `high`, excluded."""

    field: Field
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Containing:
    """The field is a text with this one in it. No character of it means anything to a glob."""

    field: Field
    value: str


@dataclass(frozen=True, slots=True)
class Fitting:
    """The field is a text in which RE2 finds the pattern."""

    field: Field
    pattern: str


Condition: TypeAlias = Equal | Unequal | Prefix | Within | Containing | Fitting


@dataclass(frozen=True, slots=True)
class Rule:
    """All conditions hold; no two are about the same field."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A filter as a user of Headrace writes it."""

    spec: dict[str, Any]


AnyRule: TypeAlias = Rule | Written


def filter_of(rule: AnyRule) -> Filter:
    """Return Headrace's filter.

    That of a `Rule` is put together without a parser, so that a million of them take seconds; it equals what the
    rule's CEL compiles to.
    """
    if isinstance(rule, Written):
        return compile_filter(rule.spec)
    return Filter(all_of(tuple(clause for each in rule.conditions for clause in _clauses(each))))


def ruler_pattern(rule: AnyRule) -> dict[str, Any] | None:
    """Return event-ruler's pattern, or None where it has no words for the rule."""
    return _pattern(rule, _ruler_value)


def quamina_pattern(rule: AnyRule) -> dict[str, Any] | None:
    """Return quamina's pattern, or None where it has no words for the rule: it has no ranges."""
    return _pattern(rule, _quamina_value)


def cel_text(rule: AnyRule) -> str:
    """Return the rule as CEL."""
    return filter_of(rule).cel


@cache
def _path(field: Field) -> Path:
    return Path(("data", *field))


def _clauses(condition: Condition) -> tuple[Expression, ...]:
    path = _path(condition.field)
    match condition:
        case Equal(_, value):
            return (Comparison(path, Operator.EQUAL, Literal(value)),)
        case Unequal(_, value):
            return (Comparison(path, Operator.NOT_EQUAL, Literal(value)),)
        case Prefix(_, value):
            return (StartsWith(path, value),)
        case Within(_, low, high):
            return (
                Comparison(path, Operator.GREATER_OR_EQUAL, Literal(low)),
                Comparison(path, Operator.LESS, Literal(high)),
            )
        case Containing(_, value):
            return (Contains(path, value),)
        case Fitting(_, pattern):
            return (Matches(path, pattern),)


def _pattern(rule: AnyRule, write: Callable[[Condition], Any]) -> dict[str, Any] | None:
    if isinstance(rule, Written):
        return None
    pattern: dict[str, Any] = {}
    for condition in rule.conditions:
        value = write(condition)
        if value is None:
            return None
        *above, last = condition.field
        place = pattern
        for key in above:
            place = place.setdefault(key, {})
        place[last] = [value]
    return pattern


def _ruler_value(condition: Condition) -> Any:
    match condition:
        case Equal(_, value):
            return value
        case Unequal(_, value):
            return {"anything-but": value}
        case Prefix(_, value):
            return {"prefix": value}
        case Within(_, low, high):
            return {"numeric": [">=", low, "<", high]}
        case Containing(_, value):
            return {"wildcard": f"*{value}*"}
        case Fitting():
            return None


def _quamina_value(condition: Condition) -> Any:
    match condition:
        case Equal(_, value):
            return value
        case Unequal(_, value):
            return {"anything-but": [value]}
        case Prefix(_, value):
            return {"prefix": value}
        case Containing(_, value):
            return {"shellstyle": f"*{value}*"}
        case Within() | Fitting():
            return None

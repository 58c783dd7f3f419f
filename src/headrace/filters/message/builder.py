"""Predicates in Python: `property("region").equals("eu") & ~publish_time().less_than(1613972460000)`.

Methods have the proposal's names in Python's spelling; `in` is a keyword, hence `in_`. Operands are checked when the
predicate is made: `FilterError` says which one is wrong and why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

from headrace.filters.message.operators import Operator
from headrace.filters.message.tree import Predicate, Property, Reference, Time, Value


@dataclass(frozen=True, slots=True)
class PredicateBuilder:
    """A property or a time; each method returns a predicate about it."""

    reference: Reference

    def equals(self, value: Value) -> Predicate:
        """Match this value."""
        return self._predicate(Operator.EQUALS, value)

    def not_equals(self, value: Value) -> Predicate:
        """Match any other value; a missing property has none."""
        return self._predicate(Operator.NOT_EQUALS, value)

    @overload
    def in_(self, *values: str) -> Predicate: ...
    @overload
    def in_(self, *values: int) -> Predicate: ...
    @overload
    def in_(self, *values: float) -> Predicate: ...
    def in_(self, *values: Value) -> Predicate:
        """Match any of these values."""
        return self._predicate(Operator.IN, *values)

    @overload
    def not_in(self, *values: str) -> Predicate: ...
    @overload
    def not_in(self, *values: int) -> Predicate: ...
    @overload
    def not_in(self, *values: float) -> Predicate: ...
    def not_in(self, *values: Value) -> Predicate:
        """Match any value except these."""
        return self._predicate(Operator.NOT_IN, *values)

    def greater_than(self, value: Value) -> Predicate:
        """Match greater values."""
        return self._predicate(Operator.GREATER_THAN, value)

    def greater_than_equals(self, value: Value) -> Predicate:
        """Match this and greater values."""
        return self._predicate(Operator.GREATER_THAN_EQUALS, value)

    def less_than(self, value: Value) -> Predicate:
        """Match smaller values."""
        return self._predicate(Operator.LESS_THAN, value)

    def less_than_equals(self, value: Value) -> Predicate:
        """Match this and smaller values."""
        return self._predicate(Operator.LESS_THAN_EQUALS, value)

    @overload
    def between(self, low: str, high: str) -> Predicate: ...
    @overload
    def between(self, low: int, high: int) -> Predicate: ...
    @overload
    def between(self, low: float, high: float) -> Predicate: ...
    def between(self, low: Value, high: Value) -> Predicate:
        """Match values from `low` to `high`, both included."""
        return self._predicate(Operator.BETWEEN, low, high)

    def like(self, pattern: str) -> Predicate:
        r"""Match texts like the pattern: `%` is any run of characters, `_` is one, `\%` and `\_` are themselves."""
        return self._predicate(Operator.LIKE, pattern)

    def not_like(self, pattern: str) -> Predicate:
        """Match texts unlike the pattern."""
        return self._predicate(Operator.NOT_LIKE, pattern)

    def contains_all(self, *texts: str) -> Predicate:
        """Match texts that contain all of these."""
        return self._predicate(Operator.CONTAINS_ALL, *texts)

    def contains_any(self, *texts: str) -> Predicate:
        """Match texts that contain at least one of these."""
        return self._predicate(Operator.CONTAINS_ANY, *texts)

    def contains_none(self, *texts: str) -> Predicate:
        """Match texts that contain none of these."""
        return self._predicate(Operator.CONTAINS_NONE, *texts)

    def starts_with(self, text: str, *, ignore_case: bool = False) -> Predicate:
        """Match texts that start with this one."""
        return self._predicate(
            Operator.STARTS_WITH_IGNORE_CASE if ignore_case else Operator.STARTS_WITH, text
        )

    def contains(self, text: str, *, ignore_case: bool = False) -> Predicate:
        """Match texts that contain this one."""
        return self._predicate(Operator.CONTAINS_IGNORE_CASE if ignore_case else Operator.CONTAINS, text)

    def does_not_contain(self, text: str, *, ignore_case: bool = False) -> Predicate:
        """Match texts that don't contain this one."""
        operator = Operator.DOES_NOT_CONTAIN_IGNORE_CASE if ignore_case else Operator.DOES_NOT_CONTAIN
        return self._predicate(operator, text)

    def _predicate(self, operator: Operator, *values: Value) -> Predicate:
        return Predicate(self.reference, operator, values)


def property(name: str) -> PredicateBuilder:  # noqa: A001 -- the proposal's name; meant to be used as message.property
    """Refer to an attribute or extension of the event."""
    return PredicateBuilder(Property(name))


def publish_time() -> PredicateBuilder:
    """Refer to the time at which the event was accepted, in milliseconds since the epoch."""
    return PredicateBuilder(Time.PUBLISH)


def event_time() -> PredicateBuilder:
    """Refer to the event's own `time`, in milliseconds since the epoch; unknown if it has none."""
    return PredicateBuilder(Time.EVENT)

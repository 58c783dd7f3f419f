"""Predicates in Python: `property("region").equals("eu") & ~publish_time().less_than(1613972460000)`.

Each method is named as the proposal names it, in Python's spelling; `in` is a keyword, hence `in_`. Operands
are checked when the predicate is made: `FilterError` says which one is wrong and why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

from headrace.filters.message.operators import Operator
from headrace.filters.message.tree import Predicate, Property, Reference, Time, Value


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question is about; each method asks one and returns the predicate."""

    reference: Reference

    def equals(self, value: Value) -> Predicate:
        """Ask for this value."""
        return self._ask(Operator.EQUALS, value)

    def not_equals(self, value: Value) -> Predicate:
        """Ask for any other value; a property that is missing has none."""
        return self._ask(Operator.NOT_EQUALS, value)

    @overload
    def in_(self, *values: str) -> Predicate: ...
    @overload
    def in_(self, *values: int) -> Predicate: ...
    @overload
    def in_(self, *values: float) -> Predicate: ...
    def in_(self, *values: Value) -> Predicate:
        """Ask for one of these values."""
        return self._ask(Operator.IN, *values)

    @overload
    def not_in(self, *values: str) -> Predicate: ...
    @overload
    def not_in(self, *values: int) -> Predicate: ...
    @overload
    def not_in(self, *values: float) -> Predicate: ...
    def not_in(self, *values: Value) -> Predicate:
        """Ask for a value that is none of these."""
        return self._ask(Operator.NOT_IN, *values)

    def greater_than(self, value: Value) -> Predicate:
        """Ask for more."""
        return self._ask(Operator.GREATER_THAN, value)

    def greater_than_equals(self, value: Value) -> Predicate:
        """Ask for this or more."""
        return self._ask(Operator.GREATER_THAN_EQUALS, value)

    def less_than(self, value: Value) -> Predicate:
        """Ask for less."""
        return self._ask(Operator.LESS_THAN, value)

    def less_than_equals(self, value: Value) -> Predicate:
        """Ask for this or less."""
        return self._ask(Operator.LESS_THAN_EQUALS, value)

    @overload
    def between(self, low: str, high: str) -> Predicate: ...
    @overload
    def between(self, low: int, high: int) -> Predicate: ...
    @overload
    def between(self, low: float, high: float) -> Predicate: ...
    def between(self, low: Value, high: Value) -> Predicate:
        """Ask for a value from `low` to `high`, both included."""
        return self._ask(Operator.BETWEEN, low, high)

    def like(self, pattern: str) -> Predicate:
        r"""Ask for a text of this shape: `%` is any run, `_` one character, `\%` and `\_` those themselves."""
        return self._ask(Operator.LIKE, pattern)

    def not_like(self, pattern: str) -> Predicate:
        """Ask for a text of any other shape."""
        return self._ask(Operator.NOT_LIKE, pattern)

    def contains_all(self, *texts: str) -> Predicate:
        """Ask for a text in which each of these occurs."""
        return self._ask(Operator.CONTAINS_ALL, *texts)

    def contains_any(self, *texts: str) -> Predicate:
        """Ask for a text in which at least one of these occurs."""
        return self._ask(Operator.CONTAINS_ANY, *texts)

    def contains_none(self, *texts: str) -> Predicate:
        """Ask for a text in which none of these occurs."""
        return self._ask(Operator.CONTAINS_NONE, *texts)

    def starts_with(self, text: str, *, ignore_case: bool = False) -> Predicate:
        """Ask for a text with this beginning."""
        return self._ask(Operator.STARTS_WITH_IGNORE_CASE if ignore_case else Operator.STARTS_WITH, text)

    def contains(self, text: str, *, ignore_case: bool = False) -> Predicate:
        """Ask for a text in which this one occurs."""
        return self._ask(Operator.CONTAINS_IGNORE_CASE if ignore_case else Operator.CONTAINS, text)

    def does_not_contain(self, text: str, *, ignore_case: bool = False) -> Predicate:
        """Ask for a text in which this one doesn't occur."""
        operator = Operator.DOES_NOT_CONTAIN_IGNORE_CASE if ignore_case else Operator.DOES_NOT_CONTAIN
        return self._ask(operator, text)

    def _ask(self, operator: Operator, *values: Value) -> Predicate:
        return Predicate(self.reference, operator, values)


def property(name: str) -> Asked:  # noqa: A001 -- the proposal's name; meant to be used as message.property
    """Ask about an attribute or extension of the event."""
    return Asked(Property(name))


def publish_time() -> Asked:
    """Ask when the event was accepted, in milliseconds since the epoch."""
    return Asked(Time.PUBLISH)


def event_time() -> Asked:
    """Ask when it happened, in milliseconds since the epoch: the event's `time`, unknown where it has none."""
    return Asked(Time.EVENT)

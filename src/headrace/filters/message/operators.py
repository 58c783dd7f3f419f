"""The operators of predicates, and the operands that each takes."""

from __future__ import annotations

from enum import Enum


class ValueType(Enum):
    """The type of operands, and the type as which a property's text is read to be compared with them."""

    STRING = "string"
    LONG = "long"
    DOUBLE = "double"


class Operator(Enum):
    """The operators of the revised proposal, followed by those that only its first draft has."""

    EQUALS = "equals"
    NOT_EQUALS = "not_equals"
    IN = "in"
    NOT_IN = "not_in"
    GREATER_THAN = "greater_than"
    GREATER_THAN_EQUALS = "greater_than_equals"
    LESS_THAN = "less_than"
    LESS_THAN_EQUALS = "less_than_equals"
    LIKE = "like"
    NOT_LIKE = "not_like"
    CONTAINS_ALL = "contains_all"
    CONTAINS_ANY = "contains_any"
    CONTAINS_NONE = "contains_none"
    BETWEEN = "between"

    STARTS_WITH = "starts_with"
    STARTS_WITH_IGNORE_CASE = "starts_with_ignore_case"
    CONTAINS = "contains"
    CONTAINS_IGNORE_CASE = "contains_ignore_case"
    DOES_NOT_CONTAIN = "does_not_contain"
    DOES_NOT_CONTAIN_IGNORE_CASE = "does_not_contain_ignore_case"


MANY = frozenset(
    {
        Operator.IN,
        Operator.NOT_IN,
        Operator.CONTAINS_ALL,
        Operator.CONTAINS_ANY,
        Operator.CONTAINS_NONE,
        Operator.BETWEEN,
    }
)
"""Operators of a list of operands: `BETWEEN` takes exactly two, the others at least one. The rest take exactly one."""

ANY_TYPE = frozenset(
    {
        Operator.EQUALS,
        Operator.NOT_EQUALS,
        Operator.IN,
        Operator.NOT_IN,
        Operator.GREATER_THAN,
        Operator.GREATER_THAN_EQUALS,
        Operator.LESS_THAN,
        Operator.LESS_THAN_EQUALS,
        Operator.BETWEEN,
    }
)
"""Operators that compare texts, integers and doubles. The rest take strings only."""

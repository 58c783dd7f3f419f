"""The dialects that the CloudEvents Subscriptions API requires: exact, prefix, suffix, all, any, not."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from headrace.filters.dialects.attributes import attribute_name, present_and
from headrace.filters.ir.atoms import Comparison, EndsWith, Operator, StartsWith
from headrace.filters.ir.expression import Not, all_of, any_of
from headrace.filters.ir.literals import Literal
from headrace.filters.values.documents import is_array

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.filters.dialects.dialect import ParseContext
    from headrace.filters.ir.atoms import Atom
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.operands import Operand


def parse_exact(body: object, context: ParseContext) -> Expression:
    """Parse a filter that matches if each attribute equals its value."""
    return _parse_attributes(body, context, lambda value, at: Comparison(at, Operator.EQUAL, Literal(value)))


def parse_prefix(body: object, context: ParseContext) -> Expression:
    """Parse a filter that matches if each attribute starts with its value."""
    return _parse_attributes(body, context, lambda value, at: StartsWith(at, value))


def parse_suffix(body: object, context: ParseContext) -> Expression:
    """Parse a filter that matches if each attribute ends with its value."""
    return _parse_attributes(body, context, lambda value, at: EndsWith(at, value))


def parse_all(body: object, context: ParseContext) -> Expression:
    """Parse an array of filters that must all match."""
    return all_of(_parse_elements(body, context))


def parse_any(body: object, context: ParseContext) -> Expression:
    """Parse an array of filters, at least one of which must match."""
    return any_of(_parse_elements(body, context))


def parse_not(body: object, context: ParseContext) -> Expression:
    """Parse a filter that must be false."""
    return Not(context.nested(body))


def _parse_attributes(body: object, context: ParseContext, ask: Callable[[str, Operand], Atom]) -> Expression:
    if not isinstance(body, Mapping) or not body:
        raise context.fault("must be an object of attribute names and values, with at least one", body)
    wanted = {attribute_name(name, context): context.member(name).text(value) for name, value in body.items()}
    # Sorted by name, so that the order of members makes no difference.
    return all_of(tuple(present_and(name, partial(ask, value)) for name, value in sorted(wanted.items())))


def _parse_elements(body: object, context: ParseContext) -> tuple[Expression, ...]:
    if not is_array(body) or not body:
        raise context.fault("must be an array with at least one filter", body)
    return tuple(context.element(index).nested(spec) for index, spec in enumerate(body))

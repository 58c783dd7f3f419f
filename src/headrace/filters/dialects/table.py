"""The table of dialects, and the parser of a filter object in any of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from headrace.filters.dialects import cel, cesql, message, streamer, subscriptions, trigger

if TYPE_CHECKING:
    from headrace.filters.dialects.dialect import Dialect, ParseContext
    from headrace.filters.ir.expression import Expression

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {
        "exact": subscriptions.parse_exact,
        "prefix": subscriptions.parse_prefix,
        "suffix": subscriptions.parse_suffix,
        "all": subscriptions.parse_all,
        "any": subscriptions.parse_any,
        "not": subscriptions.parse_not,
        "sql": cesql.parse_sql,
        "cesql": cesql.parse_sql,
        "cel": cel.parse_cel,
        "expression": cel.parse_cel,
        "attributes": trigger.parse_attributes,
        "sourceAndType": trigger.parse_source_and_type,
        "message": message.parse_message,
        "streamer": streamer.parse_streamer,
    }
)


def parse_filter(spec: object, context: ParseContext) -> Expression:
    """Parse a filter object in the dialect that its only key names."""
    if not isinstance(spec, Mapping) or len(spec) != 1:
        raise context.fault("a filter is an object with exactly one key, its dialect", spec)
    name, body = next(iter(spec.items()))
    if not isinstance(name, str) or name not in DIALECTS:
        raise context.fault(f"a filter's dialect is one of {', '.join(DIALECTS)}", name)
    return DIALECTS[name](body, context.member(name))

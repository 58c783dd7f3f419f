"""Filters as JSON Schema, made from the table of dialects."""

from __future__ import annotations

from headrace.documents.schemas import Named
from headrace.filters.dialects.schemas import dialect_schemas, filter_schema, message_schema

_MESSAGE: Named = Named("MessageFilter", lambda: message_schema(_MESSAGE))
FILTER: Named = Named("Filter", lambda: filter_schema(dialect_schemas(FILTER, _MESSAGE)))
FILTERS = Named(
    "Filters",
    {
        "type": "array",
        "description": "Filters that must all match; an empty list matches always.",
        "items": FILTER,
    },
)
FILTER_OR_FILTERS = Named("FilterOrFilters", {"anyOf": [FILTER, FILTERS]})

EITHER_FILTER = {"filter": FILTER_OR_FILTERS, "filters": FILTER_OR_FILTERS}
EXACTLY_ONE_FILTER = [{"required": [name]} for name in EITHER_FILTER]
"""For `oneOf`: a request has either `filter` or `filters`."""

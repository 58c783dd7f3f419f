"""Schemas that are made from the tables which the checks use, so that they can't say anything else."""

from __future__ import annotations

from typing import Any

from headrace.api.openapi.proposals import proposal_schemas
from headrace.events.media_types import MEDIA_TYPE
from headrace.filters.dialects.schemas import dialect_schemas, filter_schema, message_schema
from headrace.secrets.credential_schema import credential_schema
from headrace.subscriptions.delivery.members import DESTINATION
from headrace.subscriptions.delivery.spec import DELIVERY

Schema = dict[str, Any]


def derived_schemas() -> dict[str, Schema]:
    """Return them by name."""
    return {
        **_filter_schemas(),
        "Credential": credential_schema(),
        "Delivery": dict(DELIVERY),
        "Destination": DESTINATION,
        "MediaType": {"type": "string", "pattern": f"^{MEDIA_TYPE}$", "examples": ["application/json"]},
        **proposal_schemas(),
    }


def _filter_schemas() -> dict[str, Schema]:
    filter_, message = "#/components/schemas/Filter", "#/components/schemas/MessageFilter"
    return {
        "Filter": filter_schema(dialect_schemas(filter_, message)),
        "MessageFilter": message_schema(message),
        "Filters": {
            "type": "array",
            "description": "Filters that must all hold; none hold always.",
            "items": {"$ref": filter_},
        },
        "FilterOrFilters": {"anyOf": [{"$ref": filter_}, {"$ref": "#/components/schemas/Filters"}]},
    }

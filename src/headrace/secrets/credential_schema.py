"""`sinkCredential` as JSON Schema, from the table that reads it. That a token must not have expired, it can't say."""

from __future__ import annotations

from typing import Any

from headrace.documents.addresses import WEB_ADDRESS, address_schema
from headrace.secrets.credential_document import (
    ENDPOINT,
    EXPIRES,
    FORMS,
    LONGEST,
    MEMBERS,
    TYPE,
)


def credential_schema() -> dict[str, Any]:
    """Return the schema: one of the types, in camel case or, as newer drafts have it, in lower case."""
    return {
        "description": "What authorises deliveries at the sink. Secrets never come back.",
        "anyOf": [_of_type(type_, spell) for type_ in MEMBERS for spell in (str, str.lower)],
    }


def _of_type(type_: Any, spell: Any) -> dict[str, Any]:
    members = {spell(name): _member(name) for name in MEMBERS[type_]}
    return {
        "type": "object",
        "required": [spell(TYPE), *members],
        "properties": {spell(TYPE): {"const": str(type_)}, **members},
        "additionalProperties": False,
    }


def _member(name: str) -> dict[str, Any]:
    if name == EXPIRES:
        return {"type": "string", "format": "date-time"}
    if name == ENDPOINT:
        return address_schema(WEB_ADDRESS)
    form, wanted = FORMS[name]
    return {"type": "string", "pattern": f"^{form.pattern}$", "maxLength": LONGEST, "description": wanted}

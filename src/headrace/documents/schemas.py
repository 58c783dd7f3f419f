"""JSON Schema, written beside the check that it describes: the law is that it never refuses what the check takes.

In place of a schema may stand a `Named` one, or a type where answers are described; the OpenAPI document refers to
these by their names, and lists them once (`api/openapi/components.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """A schema that has a name in the OpenAPI document; a function makes it where it refers to itself."""

    name: str
    schema: Any


class Keywords:
    """Keywords of JSON Schema, for `Annotated`."""

    def __init__(self, **keywords: Any) -> None:
        self.schema: Schema = keywords


def described(schema: Named, description: str) -> Schema:
    """Return a reference to a schema with a description of its own."""
    return {"$ref": schema, "description": description}


def nullable(schema: Any) -> Schema:
    """Return a schema that takes null as well."""
    return {"anyOf": [schema, {"type": "null"}]}


def record(properties: Mapping[str, Any], required: Sequence[str] = (), **more: Any) -> Schema:
    """Return the schema of an object that has these properties and no others; `more` are keywords of JSON Schema."""
    needed = {"required": list(required)} if required else {}
    return {"type": "object", **needed, "properties": dict(properties), "additionalProperties": False, **more}

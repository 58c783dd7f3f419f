"""Types as schemas."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from headrace.api.answers.shared import closed
from headrace.api.openapi.components import Components
from headrace.documents.schemas import Keywords, Named, described

COUNT = Named("Count", {"type": "integer", "minimum": 0})
Tree = TypedDict("Tree", {"from": str, "parts": "NotRequired[list[Tree]]"})
Tree.__doc__ = "A tree."


@closed
class _Inner(TypedDict):
    kind: Literal["a", "b"]


class Outer(TypedDict):
    """Something."""

    count: Annotated[int, COUNT, "How many."]
    inner: _Inner
    other: NotRequired[Annotated[str | None, Keywords(maxLength=3)]]


def resolved(shape):
    components = Components()
    return components.resolve(shape), components.schemas


@pytest.mark.parametrize(
    ("type_", "schema"),
    [
        (str, {"type": "string"}),
        (Any, {}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (dict[str, Any], {"type": "object"}),
        (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
        (str | None, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (Literal[True], {"const": True}),
        ({"enum": [None, "a"], "items": [bool]}, {"enum": [None, "a"], "items": [{"type": "boolean"}]}),
    ],
)
def test_plain_types(type_, schema):
    assert resolved(type_) == (schema, {})


def test_a_typed_dict_is_a_component_and_a_private_one_is_not():
    reference, schemas = resolved(Outer)
    assert reference == {"$ref": "#/components/schemas/Outer"}
    assert set(schemas) == {"Outer", "Count"}
    assert schemas["Outer"] == {
        "type": "object",
        "description": "Something.",
        "required": ["count", "inner"],
        "properties": {
            "count": {"$ref": "#/components/schemas/Count", "description": "How many."},
            "inner": {
                "type": "object",
                "required": ["kind"],
                "properties": {"kind": {"enum": ["a", "b"]}},
                "additionalProperties": False,
            },
            "other": {"anyOf": [{"type": "string"}, {"type": "null"}], "maxLength": 3},
        },
    }


def test_a_type_may_refer_to_itself():
    _, schemas = resolved(Tree)
    assert schemas["Tree"]["properties"]["parts"]["items"] == {"$ref": "#/components/schemas/Tree"}


def test_a_reference_may_have_a_description_of_its_own():
    assert resolved(described(COUNT, "So many."))[0] == {
        "$ref": "#/components/schemas/Count",
        "description": "So many.",
    }


def test_what_has_no_schema_is_an_error():
    with pytest.raises(TypeError, match="has no schema"):
        resolved(tuple[int, str])

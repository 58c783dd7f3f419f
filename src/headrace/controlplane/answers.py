"""Manifests and objects, as requests and answers of the HTTP API have them."""

from typing import Annotated, Literal, NotRequired, TypedDict

from headrace.api.answers.shared import Label, Object, Positive, Timestamp
from headrace.documents.schemas import Keywords, Named, record
from headrace.subscriptions.channels.name import LABEL

KIND_NAME = Named(
    "KindName",
    {
        "description": "A kind of object; `GET /api/objects` lists them.",
        "type": "string",
        "examples": ["triggers"],
    },
)
_TEXTS = {"type": "object", "additionalProperties": str}
MANIFEST = Named(
    "Manifest",
    record(
        {
            "apiVersion": {"type": "string", "examples": ["eventing.knative.dev/v1"]},
            "kind": {"type": "string", "examples": ["Trigger"]},
            "metadata": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": LABEL,
                    "namespace": LABEL,
                    "labels": _TEXTS,
                    "annotations": _TEXTS,
                    "resourceVersion": {"type": ["string", "null"]},
                },
            },
            "spec": {"type": ["object", "null"]},
            "status": {},
        },
        ["apiVersion", "kind", "metadata"],
        examples=[
            {
                "apiVersion": "eventing.knative.dev/v1",
                "kind": "Trigger",
                "metadata": {"name": "orders", "namespace": "default"},
                "spec": {
                    "filters": [{"exact": {"type": "com.example.order.created"}}],
                    "subscriber": {"uri": "https://example.com/events"},
                },
            }
        ],
    ),
)
_MANY = {"type": "array", "items": MANIFEST}
_LIST = {
    "type": "object",
    "required": ["kind", "items"],
    "properties": {"kind": {"const": "List"}, "items": _MANY},
}
MANIFESTS = Named(
    "Manifests",
    {
        "description": "One object, or a list of them; an empty document asks for nothing.",
        "anyOf": [{"type": "null"}, MANIFEST, _MANY, _LIST],
    },
)


class _Metadata(TypedDict):
    name: Label
    namespace: Label
    uid: str
    generation: Positive
    resourceVersion: str
    creationTimestamp: Timestamp


class _Status(TypedDict):
    observedGeneration: int
    conditions: list[Annotated[Object, Keywords(required=["type", "status"])]]


class KnativeObject(TypedDict):
    """An object with the status of this moment."""

    apiVersion: str
    kind: str
    metadata: _Metadata
    spec: Object
    status: _Status


class _Result(TypedDict):
    kind: str
    namespace: Label
    name: Label
    outcome: Literal["created", "configured", "unchanged"]
    warnings: list[str]
    object: NotRequired[KnativeObject]


class Applied(TypedDict):
    """What became of each manifest."""

    results: list[_Result]


class KindOfObject(TypedDict):
    """A kind of object."""

    group: str
    kind: str
    plural: str

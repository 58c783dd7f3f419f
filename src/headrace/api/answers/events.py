"""Events in the JSON format of CloudEvents, as they come in and go out."""

from typing import Annotated, Any

from headrace.documents.schemas import Named, nullable
from headrace.events.attributes import URI_REFERENCE
from headrace.events.media_types import MEDIA_TYPE

_PLAIN = r"[^\x00-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]"
_NAME = "[a-z0-9]+"
_TEXT = Named(
    "AttributeText",
    {"type": "string", "pattern": f"^{_PLAIN}+$", "description": "A text without control characters."},
)
_REFERENCE = Named(
    "AttributeReference",
    {"type": "string", "description": "A reference to a URI.", "pattern": f"^{URI_REFERENCE}$"},
)
_URI = Named(
    "AbsoluteReference",
    {
        "type": "string",
        "description": "A URI with a scheme.",
        "pattern": f"^[A-Za-z][A-Za-z0-9+.-]*:{URI_REFERENCE.removesuffix('+')}*$",
    },
)
_MEDIA_TYPE = Named(
    "MediaType", {"type": "string", "pattern": f"^{MEDIA_TYPE}$", "examples": ["application/json"]}
)
_BASE64 = Named(
    "Base64",
    {
        "type": "string",
        "contentEncoding": "base64",
        "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)?$",
    },
)
_REQUIRED = {"id": _TEXT, "source": _REFERENCE, "type": _TEXT}
_SHARED = {
    **_REQUIRED,
    "subject": nullable(_TEXT),
    "time": {"type": ["string", "null"], "format": "date-time"},
    "datacontenttype": nullable(_MEDIA_TYPE),
}
_EXTENSION = {
    "description": "An extension.",
    "anyOf": [
        {"type": "string", "pattern": f"^{_PLAIN}*$"},
        {"type": "boolean"},
        {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1},
        {"type": "null"},
    ],
}
_BOTH_DATA = {
    "description": "`data` and `data_base64` exclude each other.",
    "required": ["data", "data_base64"],
    "properties": {"data": {"not": {"type": "null"}}, "data_base64": {"not": {"type": "null"}}},
}
_EVENT_1_0 = Named(
    "CloudEvent1.0",
    {
        "type": "object",
        "required": ["specversion", *_REQUIRED],
        "properties": {
            "specversion": {"const": "1.0"},
            **_SHARED,
            "dataschema": nullable(_URI),
            "data": {"description": "Any JSON value; under another media type than JSON a string."},
            "data_base64": nullable(_BASE64),
        },
        "additionalProperties": _EXTENSION,
        "propertyNames": {"pattern": f"^({_NAME}|data_base64)$"},
        "not": _BOTH_DATA,
    },
)
_EVENT_0_3 = Named(
    "CloudEvent0.3",
    {
        "type": "object",
        "required": ["specversion", *_REQUIRED],
        "properties": {
            "specversion": {"const": "0.3"},
            **_SHARED,
            "datacontentencoding": nullable(_TEXT),
            "schemaurl": nullable(_REFERENCE),
            "dataschema": {"type": ["string", "null"], "pattern": f"^{_PLAIN}*$"},
            "data": {"description": "Any JSON value; base64 where `datacontentencoding` says so."},
        },
        "additionalProperties": {"description": "An extension, of any JSON value."},
        "propertyNames": {"pattern": f"^{_NAME}$"},
    },
)
CLOUD_EVENT = Named(
    "CloudEvent",
    {
        "description": (
            "An event in the JSON format of CloudEvents 1.0 or 0.3. Attributes that are null count as absent."
        ),
        "anyOf": [_EVENT_1_0, _EVENT_0_3],
        "examples": [
            {
                "specversion": "1.0",
                "id": "1",
                "source": "/shop",
                "type": "com.example.order.created",
                "datacontenttype": "application/json",
                "data": {"amount": 7},
            }
        ],
    },
)
CloudEvent = Annotated[dict[str, Any], CLOUD_EVENT]

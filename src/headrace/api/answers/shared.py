"""What answers of several handlers have in them."""

from typing import Annotated, Any, NotRequired, TypedDict, TypeVar

from headrace.documents.schemas import Keywords, Named
from headrace.subscriptions.channels.name import CHANNEL_NAME, LABEL
from headrace.subscriptions.points import POSITION

_Type = TypeVar("_Type", bound=type)

Natural = Annotated[int, Keywords(minimum=0)]
Positive = Annotated[int, Keywords(minimum=1)]
Seconds = Annotated[float, Keywords(minimum=0)]
Object = dict[str, Any]
Label = Annotated[str, LABEL]
ChannelName = Annotated[str, CHANNEL_NAME]
Position = Annotated[int, POSITION]
Timestamp = Annotated[
    str,
    Named("Timestamp", {"type": "string", "format": "date-time", "examples": ["2026-01-31T12:00:00.000Z"]}),
]
Base64 = Annotated[str, Keywords(contentEncoding="base64")]
NextCursor = Annotated[str, "The cursor of the next page."]
_PAIR = {"type": "array", "prefixItems": [str, str], "minItems": 2, "maxItems": 2}
Headers = Annotated[
    list[list[str]],
    Named("Headers", {"type": "array", "description": "Names and values, as they came.", "items": _PAIR}),
]


def closed(type_: _Type) -> _Type:
    """Say that an object has no other members than those of the type."""
    type_.__closed__ = True  # type: ignore[attr-defined]
    return type_


class Fault(TypedDict):
    """One thing that is wrong with a request."""

    path: Annotated[str, Keywords(examples=["filters[0].all[1].exact"])]
    problem: Annotated[str, "For a filter's text with its line and a caret under the fault."]
    line: NotRequired[
        Annotated[Positive, "Of a filter's text, where the fault lies in one; so are those below."]
    ]
    column: NotRequired[Positive]
    text: NotRequired[Annotated[str, "What is shown of the line."]]
    caret: NotRequired[Annotated[str, "Goes below that, and points to the fault."]]
    limit: NotRequired[Annotated[str, "The limit of filters that was passed."]]


class _RefusedLine(TypedDict):
    line: Positive
    faults: Annotated[list[Fault], Keywords(minItems=1)]


RefusedLines = Annotated[
    list[_RefusedLine],
    Named(
        "RefusedLines",
        {
            "type": "array",
            "description": "The first lines that can't be used, with everything that is wrong with each.",
            "maxItems": 1000,
            "items": _RefusedLine,
        },
    ),
]


class Problem(TypedDict):
    """An error (RFC 9457), with what is wrong and what to do about it."""

    type: Annotated[str, Keywords(format="uri", examples=["urn:headrace:invalid-filter"])]
    title: str
    status: Annotated[int, Keywords(minimum=400, maximum=599)]
    code: Annotated[str, "Stable; programs may depend on it.", Keywords(examples=["invalid-filter"])]
    detail: Annotated[str, "What is wrong and what to do."]
    faults: NotRequired[
        Annotated[
            list[str] | list[Fault],
            "What is wrong, up to 20 faults; for an event as sentences, for other things by the path of the property.",
        ]
    ]
    more: NotRequired[Annotated[Positive, "How many faults there are besides those that are listed."]]
    unexamined: NotRequired[Annotated[Positive, "Of a batch: how many events were not looked at any more."]]
    etag: NotRequired[Annotated[str, "With 412, the ETag that it has now."]]
    refused: NotRequired[Annotated[Positive, "Of an import: how many lines can't be used."]]
    lines: NotRequired[RefusedLines]

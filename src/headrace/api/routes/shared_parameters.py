"""Parameters that several routes have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.api.routes.parameters import channel, header, in_path, limit, text, time
from headrace.subscriptions.channels.name import LABEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.api.routes.parameters import Parameter

SUBSCRIPTION = text("subscription", "Of this subscription.")
CHANNEL = channel("channel", "Of the subscriptions of this channel.")
SINCE = time("since", "From this time on.")
UNTIL = time("until", "Before this time.")
LIMIT = limit()
PREFER = header(
    "Prefer", "`wait=30` (RFC 7240) answers when it has ended, or when so many seconds, at most 60, are over."
)
IF_MATCH = header(
    "If-Match",
    "The ETag of what was looked at (RFC 9110); where it has another one by now, nothing is done.",
)
IF_NONE_MATCH = header("If-None-Match", "The ETag of what was seen already (RFC 9110).")
_ID = {"type": "string", "minLength": 1}
_IN_PATH = {
    "{namespace}": in_path("namespace", "The namespace, which is a tenant.", LABEL, "default"),
    "{name}": in_path("name", "A name within the namespace.", LABEL, "default"),
    "{id}": in_path("id", "", _ID),
    "subscriptions/{id}": in_path("id", "The id of a subscription.", _ID),
    "attempts/{id}": in_path(
        "id", "The id of an attempt.", {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
    ),
}


def path_parameters(path: str, declared: Sequence[Parameter[Any]]) -> list[Parameter[Any]]:
    """Return the parameters in a path: those that a route declares itself, and otherwise what the path names."""
    own = {f"{{{each.name}}}": each for each in declared if each.where == "path"}
    parts = path.strip("/").split("/")
    return [
        own.get(part) or _IN_PATH.get(f"{before}/{part}") or _IN_PATH[part]
        for before, part in zip(["", *parts], parts, strict=False)
        if part.startswith("{")
    ]

"""Names of consumers, and the cursors by which they acknowledge."""

from __future__ import annotations

import re
import secrets
from typing import Any, NamedTuple

from headrace.documents.schemas import Named, described, record
from headrace.errors import InvalidRequest

_CONSUMER = "[0-9a-f]{16}"
_CURSOR = re.compile(f"({_CONSUMER})-([0-9]{{1,18}})")
_MOST_IDS = 1000
CONSUMER = {"type": "string", "pattern": f"^{_CONSUMER}$"}
PULL_CURSOR = Named(
    "PullCursor",
    {
        "type": "string",
        "description": "A consumer, and an event that it was handed.",
        "pattern": f"^{_CURSOR.pattern}$",
        "examples": ["5f3c2b1a09876543-17"],
    },
)
_MEMBERS = {
    "upTo": described(PULL_CURSOR, "It is done with all that it was handed up to this one."),
    "ids": {
        "type": "array",
        "maxItems": _MOST_IDS,
        "items": PULL_CURSOR,
        "description": "It is done with these.",
    },
    "consumer": {**CONSUMER, "description": "It is still there."},
    "release": {"type": "boolean", "default": False, "description": "It gives the rest back."},
}
ACKNOWLEDGEMENT = Named(
    "Acknowledgement",
    record(
        _MEMBERS,
        description="What one consumer says of what it holds. Whatever else it holds, it holds for another lease.",
        anyOf=[
            {"required": ["upTo"]},
            {"required": ["ids"], "properties": {"ids": {"minItems": 1}}},
            {"required": ["consumer"]},
        ],
        examples=[{"upTo": "5f3c2b1a09876543-17"}],
    ),
)
_FORM = f"must be a JSON object with any of: {', '.join(_MEMBERS)}"


class Cursor(NamedTuple):
    """A consumer, and the number of a message that it was handed."""

    consumer: str
    number: int = 0

    def __str__(self) -> str:
        return f"{self.consumer}-{self.number}"


class Acknowledgement(NamedTuple):
    """The consumer is done with all messages up to a number, and with these; `release` gives back the others."""

    consumer: str
    up_to: int | None
    numbers: tuple[int, ...]
    release: bool


def new_consumer() -> str:
    """Return a new name that can't be guessed."""
    return secrets.token_hex(8)


def parse_cursor(text: object, path: str) -> Cursor:
    """Parse a cursor from an earlier answer."""
    found = _CURSOR.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise InvalidRequest([(path, f"{text!r} is not a cursor from an earlier answer; begin without one")])
    return Cursor(found[1], int(found[2]))


def parse_acknowledgement(document: Any) -> Acknowledgement:
    """Parse the body of an acknowledgement."""
    if not isinstance(document, dict):
        raise InvalidRequest([("", f"the body {_FORM}")])
    unknown = [(str(key), f"unknown member; the body {_FORM}") for key in document if key not in _MEMBERS]
    if unknown:
        raise InvalidRequest(unknown)
    ids, release = document.get("ids", []), document.get("release", False)
    if not isinstance(ids, list) or len(ids) > _MOST_IDS:
        raise InvalidRequest([("ids", f"must be a list of at most {_MOST_IDS} cursors")])
    if not isinstance(release, bool):
        raise InvalidRequest([("release", "must be true or false")])
    up_to = None if document.get("upTo") is None else parse_cursor(document["upTo"], "upTo")
    cursors = [parse_cursor(each, f"ids[{index}]") for index, each in enumerate(ids)]
    consumers = {each.consumer for each in (*cursors, *([] if up_to is None else [up_to]))}
    if document.get("consumer") is not None:
        consumers.add(parse_cursor(f"{document['consumer']}-0", "consumer").consumer)
    if len(consumers) != 1:
        raise InvalidRequest([("", "give upTo, ids or consumer, all of them of one consumer")])
    (consumer,) = consumers
    return Acknowledgement(
        consumer, None if up_to is None else up_to.number, tuple(each.number for each in cursors), release
    )

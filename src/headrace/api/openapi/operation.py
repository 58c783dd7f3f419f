"""The parts of a route's description that are more than a text: the body that it reads, and its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Header:
    """A header of answers."""

    name: str
    description: str
    schema: Any
    required: bool = True


@dataclass(frozen=True, slots=True)
class Body:
    """What a request carries: a type or schema, as JSON, or one for each media type."""

    content: Any
    description: str = ""
    required: bool = True

    @property
    def by_media_type(self) -> Mapping[str, Any]:
        """The schemas by media type."""
        return _by_media_type(self.content)

    @property
    def is_json(self) -> bool:
        """Whether other media types than JSON are refused."""
        return JSON in self.by_media_type and "application/yaml" not in self.by_media_type


@dataclass(frozen=True, slots=True)
class Answer:
    """What an answer carries: nothing, a type or schema as JSON, or one for each media type.

    `links` name operations, by what they do to what the answer shows: it has members named as the parameters of their
    paths.
    """

    description: str
    content: Any = None
    headers: tuple[Header, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def by_media_type(self) -> Mapping[str, Any]:
        """The schemas by media type."""
        return {} if self.content is None else _by_media_type(self.content)


def _by_media_type(content: Any) -> Mapping[str, Any]:
    is_listed = isinstance(content, Mapping) and any("/" in name for name in content)
    return content if is_listed else {JSON: content}


LOCATION = Header("Location", "Where what was made is shown.", {"type": "string", "format": "uri-reference"})
PREFERENCE_APPLIED = Header(
    "Preference-Applied",
    "How long the answer was waited for, where that was asked for.",
    {"type": "string", "pattern": "^wait=[0-9]+$"},
    required=False,
)
RETRY_AFTER = Header(
    "Retry-After",
    "Seconds after which trying again makes sense, where that is known.",
    {"type": "string", "pattern": "^[0-9]+$"},
    required=False,
)

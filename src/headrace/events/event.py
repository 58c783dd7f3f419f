"""What an event is: its attributes, its data, and how the data came."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Callable

AttributeValue: TypeAlias = str | bool | int | float | list[Any] | Mapping[str, Any]
"""CloudEvents 1.0 knows strings, booleans and 32-bit integers; an extension of 0.3 may be any JSON value."""


class DataKind(enum.IntEnum):
    """How `data` came, so that it can leave the same way."""

    BYTES = 0
    """Opaque bytes: the body of a binary message, or what `data_base64` held."""

    JSON = 1
    """The JSON value of a structured event, byte for byte as it stood there."""

    TEXT = 2
    """The UTF-8 form of a string that stood in a structured event: under a media type other than JSON,
    or base64 under CloudEvents 0.3 (the base64 text itself, not what it stands for)."""


@dataclass(frozen=True, slots=True)
class Event:
    """A CloudEvent, 1.0 or 0.3, exactly as it came.

    Nothing is validated here: a filter can be asked about any event. The bindings validate what they read.
    No data (`None`) and empty data (`b""`) are different things.
    """

    attributes: Mapping[str, AttributeValue]
    data: bytes | None = None
    data_kind: DataKind = DataKind.BYTES

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", MappingProxyType(dict(self.attributes)))

    def __reduce__(self) -> tuple[Callable[..., Event], tuple[object, ...]]:
        # A mapping proxy can't be pickled; the constructor makes a new one.
        return Event, (dict(self.attributes), self.data, self.data_kind)

    @property
    def id(self) -> str:
        """Unique together with `source`."""
        return cast("str", self.attributes["id"])

    @property
    def source(self) -> str:
        """A URI reference to where the event happened."""
        return cast("str", self.attributes["source"])

    @property
    def type(self) -> str:
        """What kind of thing happened."""
        return cast("str", self.attributes["type"])

    @property
    def specversion(self) -> str:
        """`1.0` or `0.3`."""
        return cast("str", self.attributes["specversion"])

    @property
    def subject(self) -> str | None:
        """What the event is about, within its source."""
        return cast("str | None", self.attributes.get("subject"))

    @property
    def time(self) -> str | None:
        """When it happened, as the producer wrote it."""
        return cast("str | None", self.attributes.get("time"))

    @property
    def datacontenttype(self) -> str | None:
        """The media type of the data."""
        return cast("str | None", self.attributes.get("datacontenttype"))

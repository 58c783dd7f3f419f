"""Parameters of requests: each is declared once, for the check and for the description. Every fault is listed."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from headrace.documents.schemas import Named
from headrace.errors import InvalidChannel, InvalidRequest
from headrace.subscriptions.channels.name import CHANNEL_NAME, LABEL, check_channel, parse_channel
from headrace.subscriptions.points import POSITION, TIMES, parse_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request

    from headrace.documents.faults import Faults
    from headrace.subscriptions.channels.name import ChannelName

_HIGHEST = 2**63 - 1
_MOST_DIGITS = 20
_STATUS = re.compile("[0-9]{1,5}|[1-5][xX]{2}")
_TIME = Named(
    "TimeText",
    {
        "description": "RFC 3339, or milliseconds since the epoch.",
        "anyOf": [
            {"type": "string", "format": "date-time"},
            {"type": "integer", "minimum": 0, "maximum": TIMES.stop - 1},
        ],
    },
)
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Parameter(Generic[_Value]):
    """`parse` raises ValueError with what is wrong; `absent` is the value of one that is not given."""

    name: str
    description: str
    schema: Any
    parse: Callable[[str], _Value]
    absent: _Value
    where: str = "query"
    example: str = ""

    def of(self, request: Request) -> _Value:
        """Return the value in a request that may have other parameters too; raise InvalidRequest if it is faulty."""
        faults: Faults = []
        value = self.read(request.query_params, faults)
        if faults:
            raise InvalidRequest(faults)
        return value

    def read(self, given: Mapping[str, str], faults: Faults) -> _Value:
        """Return the value; what is wrong with it is added to the faults."""
        text = given.get(self.name)
        try:
            return self.absent if text is None else self.parse(text)
        except ValueError as error:
            faults.append((self.name, str(error)))
            return self.absent


class Parameters:
    """Reads parameters one by one; then `check` raises if any of them was faulty or unknown."""

    def __init__(self, request: Request, known: Sequence[Parameter[Any]]) -> None:
        names = [each.name for each in known if each.where == "query"]
        self._given = request.query_params
        self._faults: Faults = [
            (name, f"unknown parameter; known ones are: {', '.join(names)}")
            for name in self._given
            if name not in names
        ]
        self._faults += [
            (name, "is given more than once")
            for name in self._given
            if name in names and len(self._given.getlist(name)) > 1
        ]

    def read(self, parameter: Parameter[_Value]) -> _Value:
        """Return the value of a parameter."""
        return parameter.read(self._given, self._faults)

    def check(self) -> None:
        """Raise InvalidRequest if there was a fault."""
        if self._faults:
            raise InvalidRequest(self._faults)


# Kinds of parameters


def text(name: str, description: str) -> Parameter[str | None]:
    """Take any text."""
    return Parameter(name, description, {"type": "string"}, str, None)


def one_of(
    name: str, allowed: Sequence[str], description: str, default: str | None = None
) -> Parameter[str | None]:
    """Take one of these texts."""

    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"{text!r} is not one of {', '.join(allowed)}")
        return text

    shown = {} if default is None else {"default": default}
    return Parameter(name, description, {"enum": list(allowed), **shown}, parse, default)


def flag(name: str, description: str) -> Parameter[bool]:
    """Take true or false, which is the default."""

    def parse(text: str) -> bool:
        if text not in ("true", "false"):
            raise ValueError(f"{text!r} is not one of true, false")
        return text == "true"

    return Parameter(name, description, {"type": "boolean", "default": False}, parse, absent=False)


def number(name: str, least: int, most: int, description: str) -> Parameter[int | None]:
    """Take a whole number."""
    schema = {"type": "integer", "minimum": least, "maximum": most}
    return Parameter(name, description, schema, _number(least, most), None)


def limit(most: int = 1000, default: int = 100) -> Parameter[int]:
    """Take the number of items to show."""
    schema = {"type": "integer", "minimum": 1, "maximum": most, "default": default}
    return Parameter("limit", "How many are shown at most.", schema, _number(1, most), default)


def time(name: str, description: str) -> Parameter[float | None]:
    """Take a time, RFC 3339 or milliseconds, as seconds since the epoch."""

    def parse(text: str) -> float | None:
        faults: Faults = []
        milliseconds = parse_time(int(text) if _is_number(text) else text, name, faults)
        for _, problem in faults:
            raise ValueError(problem)
        return None if milliseconds is None else milliseconds / 1000

    return Parameter(name, description, _TIME, parse, None)


def namespace(name: str, description: str) -> Parameter[str | None]:
    """Take the name of a namespace."""

    def parse(text: str) -> str:
        try:
            return check_channel(text, text).namespace
        except InvalidChannel as error:
            raise ValueError(str(error)) from None

    return Parameter(name, description, LABEL, parse, None)


def channel(name: str, description: str) -> Parameter[ChannelName | None]:
    """Take the name of a channel."""

    def parse(text: str) -> ChannelName:
        try:
            return parse_channel(text)
        except InvalidChannel as error:
            raise ValueError(str(error)) from None

    return Parameter(name, description, CHANNEL_NAME, parse, None)


def position(name: str, description: str) -> Parameter[int | None]:
    """Take a position of the log."""
    return Parameter(name, description, POSITION, _number(0, _HIGHEST), None)


def statuses(name: str, description: str) -> Parameter[tuple[int, int] | None]:
    """Take a status such as 503, or a class such as 5xx, as the lowest and the highest status."""

    def parse(text: str) -> tuple[int, int]:
        if not _STATUS.fullmatch(text):
            raise ValueError(f"{text!r} is neither a status such as 503 nor a class such as 5xx")
        if text.isdigit():
            return int(text), int(text)
        return int(text[0]) * 100, int(text[0]) * 100 + 99

    return Parameter(name, description, {"type": "string", "pattern": f"^({_STATUS.pattern})$"}, parse, None)


def cursor(*kinds: type, description: str = "What `next` of the page before said.") -> Parameter[Any]:
    """Take a cursor of `write_cursor`, with values of these types."""

    def parse(text: str) -> tuple[Any, ...]:
        try:
            values = msgspec.json.decode(urlsafe_b64decode(text.encode()))
            if [type(each) for each in values] == list(kinds) and all(map(_is_storable, values)):
                return tuple(values)
        except (ValueError, TypeError, msgspec.DecodeError):
            pass
        raise ValueError("is not a cursor from an earlier answer; begin without one")

    return Parameter("cursor", description, {"type": "string"}, parse, None)


def header(name: str, description: str, schema: Any = None) -> Parameter[str | None]:
    """Describe a header, which the endpoint reads by itself."""
    return Parameter(name, description, schema or {"type": "string"}, str, None, "header")


def in_path(name: str, description: str, schema: Any, example: str = "") -> Parameter[str | None]:
    """Describe a part of the path."""
    return Parameter(name, description, schema, str, None, "path", example)


def write_cursor(values: Sequence[Any]) -> str:
    """Encode the sort key of the last item shown, from which the next page continues."""
    return urlsafe_b64encode(msgspec.json.encode(list(values))).decode()


def _number(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not _is_number(text) or not least <= int(text) <= most:
            raise ValueError(f"{text!r} can't be used; give a number from {least} to {most}")
        return int(text)

    return parse


def _is_number(text: str) -> bool:
    """Tell whether a text is a short number; Python refuses to parse thousands of digits."""
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


def _is_storable(value: Any) -> bool:
    """Tell whether a database can hold a value: no integer beyond 64 bits, no text with a NUL."""
    return "\0" not in value if isinstance(value, str) else abs(value) <= _HIGHEST

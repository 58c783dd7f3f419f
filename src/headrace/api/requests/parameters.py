"""Query parameters, parsed and checked; every fault is listed."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.errors import InvalidChannel, InvalidRequest
from headrace.subscriptions.channels.name import check_channel, parse_channel
from headrace.subscriptions.points import parse_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from headrace.documents.faults import Faults
    from headrace.subscriptions.channels.name import ChannelName

_HIGHEST = 2**63 - 1
_MOST_DIGITS = 20


class Parameters:
    """Reads parameters one by one; then `check` raises if any of them was faulty or unknown."""

    def __init__(self, request: Request, known: Sequence[str]) -> None:
        self._given = request.query_params
        self._faults: Faults = [
            (name, f"unknown parameter; known ones are: {', '.join(known)}")
            for name in self._given
            if name not in known
        ]
        self._faults += [
            (name, "is given more than once")
            for name in self._given
            if name in known and len(self._given.getlist(name)) > 1
        ]

    def check(self) -> None:
        """Raise InvalidRequest if there was a fault."""
        if self._faults:
            raise InvalidRequest(self._faults)

    def text(self, name: str) -> str | None:
        """Return a parameter as it is."""
        return self._given.get(name)

    def one_of(self, name: str, allowed: Sequence[str]) -> str | None:
        """Parse one of the allowed values."""
        text = self._given.get(name)
        if text is not None and text not in allowed:
            self._faults.append((name, f"{text!r} is not one of {', '.join(allowed)}"))
        return text

    def number(self, name: str, least: int, most: int) -> int | None:
        """Parse a whole number."""
        text = self._given.get(name)
        if text is None:
            return None
        if not _is_number(text) or not least <= int(text) <= most:
            self._faults.append((name, f"{text!r} can't be used; give a number from {least} to {most}"))
            return None
        return int(text)

    def position(self, name: str) -> int | None:
        """Parse a log position."""
        return self.number(name, 0, _HIGHEST)

    def seconds(self, name: str) -> float | None:
        """Parse a time, RFC 3339 or milliseconds, as seconds since the epoch."""
        text = self._given.get(name)
        value: Any = int(text) if text is not None and _is_number(text) else text
        milliseconds = parse_time(value, name, self._faults)
        return None if milliseconds is None else milliseconds / 1000

    def statuses(self, name: str) -> tuple[int, int] | None:
        """Parse a status such as 503, or a class such as 5xx, as the lowest and the highest status."""
        text = self._given.get(name)
        if text is None:
            return None
        if len(text) == 3 and text[0] in "12345" and text[1:].lower() == "xx":
            return int(text[0]) * 100, int(text[0]) * 100 + 99
        if text.isascii() and text.isdigit() and len(text) <= 5:
            return int(text), int(text)
        self._faults.append((name, f"{text!r} is neither a status such as 503 nor a class such as 5xx"))
        return None

    def namespace(self, name: str) -> str | None:
        """Parse the name of a namespace."""
        text = self._given.get(name)
        try:
            return None if text is None else check_channel(text, text).namespace
        except InvalidChannel as error:
            self._faults.append((name, str(error)))
            return None

    def channel(self, name: str) -> ChannelName | None:
        """Parse the name of a channel."""
        text = self._given.get(name)
        try:
            return None if text is None else parse_channel(text)
        except InvalidChannel as error:
            self._faults.append((name, str(error)))
            return None

    def cursor(self, name: str, kinds: Sequence[type]) -> tuple[Any, ...] | None:
        """Parse a cursor of `write_cursor`, with values of these types."""
        text = self._given.get(name)
        if text is None:
            return None
        try:
            values = msgspec.json.decode(urlsafe_b64decode(text.encode()))
            if [type(each) for each in values] == list(kinds) and all(map(_is_storable, values)):
                return tuple(values)
        except (ValueError, TypeError, msgspec.DecodeError):
            pass
        self._faults.append((name, "is not a cursor from an earlier answer; begin without one"))
        return None


def _is_number(text: str) -> bool:
    """Tell whether a text is a short number; Python refuses to parse thousands of digits."""
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


def _is_storable(value: Any) -> bool:
    """Tell whether a database can hold a value: no integer beyond 64 bits, no text with a NUL."""
    return "\0" not in value if isinstance(value, str) else abs(value) <= _HIGHEST


def write_cursor(values: Sequence[Any]) -> str:
    """Encode the sort key of the last item shown, from which the next page continues."""
    return urlsafe_b64encode(msgspec.json.encode(list(values))).decode()


def parse_limit(text: str | None, default: int, most: int) -> int:
    """Parse the number of items to show."""
    if text is None:
        return default
    if not _is_number(text) or not 1 <= int(text) <= most:
        raise InvalidRequest([("limit", f"{text!r} can't be used; give a number from 1 to {most}")])
    return int(text)

"""What a dialect is: a parser from the body of a filter object to the tree."""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeGuard

from headrace.errors import FilterError

if TYPE_CHECKING:
    from headrace.filters.bounds.limits import Limits
    from headrace.filters.ir.expression import Expression

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_]{1,100}\Z")


class Dialect(Protocol):
    """The parser of `body` in `{"<dialect>": body}`."""

    def __call__(self, body: object, place: Place, /) -> Expression:
        """Return the tree, or refuse with `place.fault` whatever can't be read exactly."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the filter a parser stands, and what it may do there.

    `read` parses a filter object in whichever dialect it names: how dialects nest without knowing each other.
    """

    path: str
    limits: Limits
    read: Dialect
    notes: list[str] = field(default_factory=list)
    depth: int = 1

    def member(self, name: str) -> Place:
        """Return the place of an object's member."""
        step = f".{name}" if _PLAIN_NAME.match(name) else f"[{json.dumps(name[:100])}]"
        return self._at(self.path + step, self.depth)

    def element(self, index: int) -> Place:
        """Return the place of an array's element."""
        return self._at(f"{self.path}[{index}]", self.depth)

    def nested(self, spec: object) -> Expression:
        """Read a filter one level below this one."""
        if self.depth >= self.limits.depth:
            raise FilterError(
                f"filters are nested deeper than the limit `depth` of {self.limits.depth}",
                path=self.path,
                limit="depth",
            )
        return self.read(spec, self._at(self.path, self.depth + 1))

    def note(self, remark: str) -> None:
        """Leave a remark for the author of the filter, on the compiled filter."""
        self.notes.append(f"{self.path}: {remark}")

    def fault(self, problem: str, value: object) -> FilterError:
        """Return the error that refuses `value` here."""
        return FilterError(f"{problem}, not {reprlib.repr(value)}", path=self.path, value=value)

    def text(self, value: object) -> str:
        """Return the value if it is a text that can be compared with: not empty, valid, not too long."""
        if not isinstance(value, str) or not value:
            raise self.fault("must be a string that is not empty", value)
        if len(value) > self.limits.length:
            raise FilterError(
                f"{len(value)} characters are more than the limit `length` of {self.limits.length}",
                path=self.path,
                value=value,
                limit="length",
            )
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            raise self.fault("must be valid Unicode, without lone surrogates", value)
        return value

    def _at(self, path: str, depth: int) -> Place:
        # Not by `replace`, which takes several times as long: a filter has many places.
        return Place(path, self.limits, self.read, self.notes, depth)


def is_array(value: object) -> TypeGuard[Sequence[object]]:
    """Say whether the value is what JSON calls an array: in Python texts are sequences too."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)

"""The interface of a dialect: a parser from the body of a filter object to the tree."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from headrace.errors import FilterError
from headrace.filters.values.texts import is_unicode, shown

if TYPE_CHECKING:
    from headrace.filters.bounds.limits import Limits
    from headrace.filters.ir.expression import Expression

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_]{1,100}\Z")


class Dialect(Protocol):
    """The parser of `body` in `{"<dialect>": body}`."""

    def __call__(self, body: object, context: ParseContext, /) -> Expression:
        """Return the tree, or raise `context.fault` for whatever can't be read exactly."""
        ...


@dataclass(frozen=True, slots=True)
class ParseContext:
    """The path and depth that a parser has reached in the filter, with what it needs there.

    `read` parses a filter object in whichever dialect it names, so that dialects nest without knowing each other.
    """

    path: str
    limits: Limits
    read: Dialect
    notes: list[str] = field(default_factory=list)
    depth: int = 1

    def member(self, name: str) -> ParseContext:
        """Return the context of an object's member."""
        step = f".{name}" if _PLAIN_NAME.match(name) else f"[{json.dumps(name[:100])}]"
        return self._at(self.path + step, self.depth)

    def element(self, index: int) -> ParseContext:
        """Return the context of an array's element."""
        return self._at(f"{self.path}[{index}]", self.depth)

    def nested(self, spec: object) -> Expression:
        """Parse a filter one level below this one."""
        if self.depth >= self.limits.depth:
            raise FilterError(
                f"filters are nested deeper than the limit `depth` of {self.limits.depth}",
                path=self.path,
                limit="depth",
            )
        return self.read(spec, self._at(self.path, self.depth + 1))

    def note(self, remark: str) -> None:
        """Add a remark for the filter's author to the compiled filter."""
        self.notes.append(f"{self.path}: {remark}")

    def fault(self, problem: str, value: object) -> FilterError:
        """Return the error that refuses `value`."""
        return FilterError(f"{problem}, not {shown(value)}", path=self.path, value=value)

    def text(self, value: object) -> str:
        """Return the value if it is a text to compare with: neither empty, nor too long, nor invalid Unicode."""
        return self.checked_text(value, "length", "a string that is not empty")

    def checked_text(self, value: object, limit: str, expected: str) -> str:
        """Return a text within the limit of that name, neither empty nor invalid Unicode."""
        if not isinstance(value, str) or not value:
            raise self.fault(f"must be {expected}", value)
        self.limits.check(limit, len(value), "characters", path=self.path, value=value)
        if not is_unicode(value):
            raise self.fault("must be valid Unicode, without lone surrogates", value)
        return value

    def _at(self, path: str, depth: int) -> ParseContext:
        # `replace` would take several times as long, and a filter has many members.
        return ParseContext(path, self.limits, self.read, self.notes, depth)

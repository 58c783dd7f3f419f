"""Kinds of values: a check, the same as JSON Schema for those who ask before they send, and in words.

Be careful: a value may be a secret, or next to one. A problem repeats a value only where the kind says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.documents.whole_numbers import whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.documents.faults import Faults

    Problems = Iterator[tuple[str, str]]
    Check = Callable[[Any], Problems]

_SHOWN = 60
NO_CONTROLS = r"[^\x00-\x1f\x7f]"
"""A character that is no control character."""


@dataclass(frozen=True, slots=True)
class Kind:
    """`check` yields what is wrong with a value, with the path below it.

    `schema` never refuses what the check takes; what JSON Schema can't say, it takes. `words` name the values in
    documentation. `normal` turns a value that was found good into the one form in which it is kept.
    """

    schema: Any
    check: Check
    words: str = ""
    normal: Callable[[Any], Any] = lambda value: value

    def __call__(self, value: Any) -> Problems:
        """Yield what is wrong with a value."""
        return self.check(value)


def shown(value: object) -> str:
    """Write a refused value, of which nobody wants to read pages."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def one_of(*allowed: str) -> Kind:
    """One of these texts."""

    def check(value: Any) -> Problems:
        if not isinstance(value, str) or value not in allowed:
            yield "", f"{shown(value)} is not one of {', '.join(allowed)}"

    return Kind({"enum": list(allowed)}, check, ", ".join(f"`{each}`" for each in allowed))


def whole(low: int, high: int) -> Kind:
    """A whole number within these bounds."""

    def check(value: Any) -> Problems:
        number = whole_number(value)
        if number is None or not low <= number <= high:
            yield "", f"{shown(value)} is not a whole number from {low} to {high}"

    return Kind({"type": "integer", "minimum": low, "maximum": high}, check, f"{low} to {high}", int)


def text(longest: int, pattern: str = f"{NO_CONTROLS}+", wanted: str = "a text") -> Kind:
    """A text that a pattern describes as a whole, of so many bytes of UTF-8 at most.

    The pattern has to mean the same in JavaScript, whose regular expressions are JSON Schema's.
    """
    form = re.compile(pattern)

    def check(value: Any) -> Problems:
        if not isinstance(value, str) or not form.fullmatch(value):
            yield "", f"{shown(value)} is not {wanted}"
        elif len(value.encode(errors="replace")) > longest:
            yield "", f"has {len(value.encode(errors='replace'))} bytes and the limit is {longest}"

    return Kind({"type": "string", "pattern": f"^(?:{pattern})$", "maxLength": longest}, check, wanted)


def any_text(wanted: str) -> Kind:
    """A text, whatever stands in it."""

    def check(value: Any) -> Problems:
        if not isinstance(value, str):
            yield "", f"has to be {wanted}"

    return Kind({"type": "string"}, check, wanted)


def kind_of(schema: Any, read: Callable[[Any, str, Faults], Any]) -> Kind:
    """The kind of what `read` reads: it takes a value, its path, and a list for the faults."""

    def check(value: Any) -> Problems:
        faults: Faults = []
        read(value, "", faults)
        yield from faults

    return Kind(schema, check, normal=lambda value: read(value, "", []))


def mapping(names: Kind, values: Kind, wanted: str) -> Kind:
    """An object of any names of a kind, with values of another."""

    def check(value: Any) -> Problems:
        if not isinstance(value, dict):
            yield "", f"has to be {wanted}"
            return
        for name, each in value.items():
            yield from ((f".{name}", problem) for _, problem in (*names(name), *values(each)))

    schema = {"type": "object", "propertyNames": names.schema, "additionalProperties": values.schema}
    return Kind(schema, check, wanted)


def _check_flag(value: Any) -> Problems:
    if not isinstance(value, bool):
        yield "", f"{shown(value)} is not true or false"


flag = Kind({"type": "boolean"}, _check_flag, "`true`, `false`")
"""True or false."""

"""Kinds of values that settings take. A check yields what is wrong, with the path below the setting.

Be careful: a value may be a secret, or next to one. A problem repeats a value only where the kind says so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.subscriptions.protocols.protocol import Check, Problems

_SHOWN = 60
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def shown(value: object) -> str:
    """Write a refused value, of which nobody wants to read pages."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def one_of(*allowed: str) -> Check:
    """One of these texts."""

    def check(value: Any) -> Problems:
        if not isinstance(value, str) or value not in allowed:
            yield "", f"{shown(value)} is not one of {', '.join(allowed)}"

    return check


def whole(low: int, high: int) -> Check:
    """A whole number within these bounds."""

    def check(value: Any) -> Problems:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            yield "", f"{shown(value)} is not a whole number from {low} to {high}"

    return check


def text(longest: int, pattern: str = ".+", wanted: str = "a text") -> Check:
    """A text without control characters that a pattern describes as a whole, of so many bytes of UTF-8 at most."""
    form = re.compile(pattern, re.DOTALL)

    def check(value: Any) -> Problems:
        if not isinstance(value, str) or not form.fullmatch(value) or _CONTROL.search(value):
            yield "", f"{shown(value)} is not {wanted}"
        elif len(value.encode(errors="replace")) > longest:
            yield "", f"has {len(value.encode(errors='replace'))} bytes and the limit is {longest}"

    return check


def flag(value: Any) -> Problems:
    """True or false."""
    if not isinstance(value, bool):
        yield "", f"{shown(value)} is not true or false"

"""Patterns over strings. All of them run in RE2: no user's pattern reaches an engine that can backtrack."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import re2

from headrace.filters.values.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEPT = 4096
_WILDCARDS = frozenset("*?[")
_ANY = r"[\x{0}-\x{10FFFF}]"
_NOTHING = r"[^\x{0}-\x{10FFFF}]"


class InvalidPattern(ValueError):
    """RE2 can't compile the pattern; the message is RE2's own."""


@lru_cache(_KEPT)
def compile_pattern(pattern: str) -> Any:
    """Return RE2's compiled program of a pattern."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "RE2 can't compile it"
        raise InvalidPattern(reason.decode() if isinstance(reason, bytes) else str(reason)) from None
    except UnicodeEncodeError:
        raise InvalidPattern("lone surrogates are not valid Unicode") from None


@lru_cache(_KEPT)
def _tester(pattern: str) -> Any:
    """Return a program without captures, which would cost as much as the search itself."""
    compile_pattern(pattern)
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    return re2.compile(pattern, options)


def size_of(pattern: str) -> int:
    """Return the size of a pattern's program; 0 if it can't be compiled."""
    try:
        return int(compile_pattern(pattern).programsize)
    except InvalidPattern:
        return 0


def found(text: str, pattern: str) -> bool:
    """Return whether RE2 finds the pattern somewhere in the text."""
    try:
        return _tester(pattern).search(text) is not None
    except InvalidPattern as error:
        raise Fault(f"{pattern[:40]!r} is not a regular expression: {error}") from None
    except UnicodeEncodeError:
        raise Fault("lone surrogates are not valid Unicode") from None


def fits(text: str, glob: str) -> bool:
    """Return whether the whole text matches the shell pattern."""
    return text.startswith(glob[:-1]) if is_prefix(glob) else found(text, translate(glob))


def is_prefix(glob: str) -> bool:
    """Return whether the shell pattern matches all texts with a certain prefix, and no others."""
    return glob.endswith("*") and _WILDCARDS.isdisjoint(glob[:-1])


@lru_cache(_KEPT)
def translate(glob: str) -> str:
    """Return the regular expression of a shell pattern.

    `*` matches any text, `?` one character, `[ab0-9]` one of these and `[!ab0-9]` any other. A `[` that isn't closed
    matches itself, and so does a wildcard in brackets: `[*]`.
    """
    return r"\A" + "".join(map(_translate_token, _tokens(glob))) + r"\z"


def pieces_of(glob: str) -> tuple[str, ...]:
    """Return the texts between wildcards: whatever matches starts with the first of them and ends with the last."""
    pieces = [""]
    for token in _tokens(glob):
        if token in ("*", "?") or len(token) > 1:
            pieces.append("")
        else:
            pieces[-1] += token
    return tuple(pieces)


def _tokens(glob: str) -> Iterator[str]:
    """Yield wildcards, bracketed classes and the characters between them."""
    position = 0
    while position < len(glob):
        end = _class_end(glob, position + 1) if glob[position] == "[" else -1
        length = end + 1 - position if end >= 0 else 1
        yield glob[position : position + length]
        position += length


def _translate_token(token: str) -> str:
    if len(token) > 1:
        return _translate_class(token[1:-1])
    return {"*": f"{_ANY}*", "?": _ANY}.get(token) or re2.escape(token)


def _class_end(glob: str, start: int) -> int:
    # A bracket in first position is one of the characters.
    first = start + 1 if glob[start : start + 1] == "!" else start
    return glob.find("]", first + 1)


def _translate_class(body: str) -> str:
    negated = body.startswith("!")
    ranges = _ranges(body[1:] if negated else body)
    if not ranges:
        return _ANY if negated else _NOTHING
    inside = "".join(f"\\x{{{ord(low):x}}}-\\x{{{ord(high):x}}}" for low, high in ranges)
    return f"[{'^' if negated else ''}{inside}]"


def _ranges(characters: str) -> list[tuple[str, str]]:
    """Parse `a-c-` as a to c and a hyphen. A reversed range is empty."""
    ranges, position = [], 0
    while position < len(characters):
        low = characters[position]
        if characters[position + 1 : position + 2] == "-" and position + 2 < len(characters):
            high = characters[position + 2]
            position += 3
        else:
            high = low
            position += 1
        if low <= high:
            ranges.append((low, high))
    return ranges

r"""Patterns of LIKE: `%` stands for any run of characters, `_` for one, `\%` and `\_` for themselves.

Any other backslash is a backslash, and case matters. Every text is a pattern.

A pattern is cut at its `%` into segments of fixed length. Searching for each segment at the first position where it
fits finds a match if there is one, in time proportional to text and pattern, without backtracking.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_KEPT = 4096
_PIECE = re.compile(r"\\[%_]|.", re.DOTALL)
_RE2_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")

ONE: Final = None
"""Stands for any one character in a segment."""


@dataclass(frozen=True, slots=True)
class Segment:
    """The part between two `%`: characters, and `ONE` for each `_`."""

    characters: tuple[str | None, ...]

    @property
    def text(self) -> str | None:
        """The segment as a plain text, if it has no `_`."""
        found = [character for character in self.characters if character is not ONE]
        return "".join(found) if len(found) == len(self.characters) else None

    @property
    def regex(self) -> str:
        """The segment as a regular expression, for Python and RE2."""
        return "".join("." if character is ONE else quoted(character) for character in self.characters)


def segments_of(pattern: str) -> tuple[Segment, ...]:
    """Cut the pattern at its `%`. A pattern without any is one segment; `%` alone is two empty ones."""
    segments: list[list[str | None]] = [[]]
    for piece in _PIECE.findall(pattern):
        if piece == "%":
            segments.append([])
        else:
            segments[-1].append(ONE if piece == "_" else piece[-1])
    return tuple(Segment(tuple(characters)) for characters in segments)


@lru_cache(_KEPT)
def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that tests whether a whole text matches the pattern."""
    first, *rest = segments_of(pattern)
    if not rest:
        return first.text.__eq__ if first.text is not None else _is_like(first)
    *middle, last = rest
    if not middle and first.text is not None and last.text is not None:
        return _between(first.text, last.text)
    return _in_order(first, [re.compile(segment.regex, re.DOTALL) for segment in middle], last)


@lru_cache(_KEPT)
def tries_of(pattern: str) -> int:
    """Return how often each character of a text is looked at, at most."""
    return 1 + sum(len(each.characters) for each in segments_of(pattern) if ONE in each.characters)


def question_of(segments: Sequence[Segment], end: str = "$") -> tuple[str, str]:
    """Return the CEL function, or `==`, and the argument that ask whether a text matches the segments."""
    match [segment.text for segment in segments]:
        case [str(text)]:
            return "==", text
        case [str(prefix), ""]:
            return "startsWith", prefix
        case ["", str(suffix)]:
            return "endsWith", suffix
        case ["", str(part), ""]:
            return "contains", part
        case _:
            return "matches", to_re2(segments, end)


def to_re2(segments: Iterable[Segment], end: str = "$") -> str:
    """Return the regular expression in RE2's syntax that matches the same texts."""
    return f"(?s)^{'.*'.join(segment.regex for segment in segments)}{end}"


def quoted(text: str) -> str:
    """Return the regular expression that matches the text itself."""
    return _RE2_SPECIAL.sub(r"\\\g<0>", text)


def _is_like(segment: Segment) -> Callable[[str], bool]:
    fullmatch = re.compile(segment.regex, re.DOTALL).fullmatch
    return lambda text: fullmatch(text) is not None


def _between(prefix: str, suffix: str) -> Callable[[str], bool]:
    least = len(prefix) + len(suffix)
    return lambda text: len(text) >= least and text.startswith(prefix) and text.endswith(suffix)


def _in_order(first: Segment, middle: list[re.Pattern[str]], last: Segment) -> Callable[[str], bool]:
    begin, end = re.compile(first.regex, re.DOTALL), re.compile(last.regex, re.DOTALL)
    ending = len(last.characters)

    def matches(text: str) -> bool:
        stop = len(text) - ending
        found = begin.match(text)
        for part in middle:
            if found is None:
                return False
            found = part.search(text, found.end(), max(stop, 0))
        return found is not None and found.end() <= stop and end.fullmatch(text, stop) is not None

    return matches

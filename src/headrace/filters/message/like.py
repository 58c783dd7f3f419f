r"""Patterns of LIKE: `%` stands for any run of characters, `_` for one, `\%` and `\_` for themselves.

The same rules as CESQL's: any other backslash is a backslash, and case matters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import TypeAlias


class Wildcard(Enum):
    """What isn't itself in a pattern."""

    RUN = "%"
    ONE = "_"


Token: TypeAlias = str | Wildcard

_TOKEN = re.compile(r"\\[%_]|[%_]|(?:[^%_\\]|\\(?![%_]))+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern as texts and wildcards in turn: no two texts side by side, no two runs, no empty text."""

    tokens: tuple[Token, ...]

    def matches(self, text: str) -> bool:
        """Say whether the whole text has this shape, in time proportional to both lengths multiplied."""
        first, *rest = self._segments()
        start = _match_at(first, text, 0)
        if start is None:
            return False
        if not rest:
            return start == len(text)
        for segment in rest[:-1]:
            found = _find(segment, text, start)
            if found is None:
                return False
            start = found
        tail = len(text) - _length(rest[-1])
        return tail >= start and _match_at(rest[-1], text, tail) is not None

    def _segments(self) -> list[list[Token]]:
        segments: list[list[Token]] = [[]]
        for token in self.tokens:
            if token is Wildcard.RUN:
                segments.append([])
            else:
                segments[-1].append(token)
        return segments


@lru_cache(maxsize=1024)
def parse_like(pattern: str) -> Pattern:
    """Read a pattern. Every text is one."""
    tokens: list[Token] = []
    for written in _TOKEN.findall(pattern):
        token = _read_token(written)
        if isinstance(token, str) and tokens and isinstance(tokens[-1], str):
            tokens[-1] += token
        elif token is not Wildcard.RUN or not tokens or tokens[-1] is not token:
            tokens.append(token)
    return Pattern(tuple(tokens))


def _read_token(written: str) -> Token:
    if written in ("%", "_"):
        return Wildcard(written)
    return written[1:] if written in (r"\%", r"\_") else written


def _length(segment: list[Token]) -> int:
    return sum(len(token) if isinstance(token, str) else 1 for token in segment)


def _match_at(segment: list[Token], text: str, at: int) -> int | None:
    for token in segment:
        if isinstance(token, str):
            if not text.startswith(token, at):
                return None
            at += len(token)
        else:
            at += 1
    return at if at <= len(text) else None


def _find(segment: list[Token], text: str, start: int) -> int | None:
    for at in range(start, len(text) - _length(segment) + 1):
        end = _match_at(segment, text, at)
        if end is not None:
            return end
    return None

r"""Patterns of LIKE: `%` stands for any run of characters, `_` for one, `\%` and `\_` for themselves.

The same rules as CESQL's: any other backslash is a backslash, and case matters.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TypeAlias


class Wildcard(Enum):
    """What isn't itself in a pattern."""

    RUN = "%"
    ONE = "_"


Token: TypeAlias = str | Wildcard

_TOKEN = re.compile(r"\\[%_]|[%_]|(?:[^%_\\]|\\(?![%_]))+", re.DOTALL)


def parse_like(pattern: str) -> tuple[Token, ...]:
    """Read a pattern as texts and wildcards in turn: no two texts side by side, no two runs, no empty text.

    Every text is a pattern.
    """
    tokens: list[Token] = []
    for written in _TOKEN.findall(pattern):
        token = _read_token(written)
        if isinstance(token, str) and tokens and isinstance(tokens[-1], str):
            tokens[-1] += token
        elif token is not Wildcard.RUN or not tokens or tokens[-1] is not token:
            tokens.append(token)
    return tuple(tokens)


def _read_token(written: str) -> Token:
    if written in ("%", "_"):
        return Wildcard(written)
    return written[1:] if written in (r"\%", r"\_") else written

"""Split a text into tokens."""

from __future__ import annotations

import re
from typing import NamedTuple

from headrace.errors import FilterError

KEYWORDS = frozenset({"AND", "OR", "XOR", "NOT", "LIKE", "EXISTS", "IN", "TRUE", "FALSE"})
_BLANKS = " \t\r\n"

# In a string a backslash and the next character belong together, so that an escaped quote doesn't end it.
_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
        (?P<integer>[0-9]+(?![A-Za-z0-9_]))
      | (?P<word>[A-Za-z0-9_]+)
      | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<symbol><=|>=|<>|!=|[=<>*/%+(),-])
      | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A token. `kind` is `integer`, `word`, `string`, `end`, or the keyword or symbol itself."""

    kind: str
    text: str
    position: int


def tokens_of(text: str) -> list[Token]:
    """Return the tokens, the last of which is `end`; refuse anything else."""
    found: list[Token] = []
    at = 0
    while True:
        match = _TOKEN.match(text, at)
        if match is None:
            raise _no_token(text, at)
        kind = match.lastgroup or ""
        piece = match[kind]
        if kind == "end":
            # The caret of a fault at the end points right after the last token.
            found.append(Token("end", "", at))
            return found
        found.append(Token(_exact_kind(kind, piece), piece, match.start(kind)))
        at = match.end()


def _exact_kind(kind: str, piece: str) -> str:
    if kind == "symbol":
        return piece
    if kind == "word" and piece.upper() in KEYWORDS:
        return piece.upper()
    return kind


def _no_token(text: str, at: int) -> FilterError:
    position = len(text) - len(text[at:].lstrip(_BLANKS))
    character = text[position]
    if character in "'\"":
        problem = f"a string that starts with {character} must end with {character}"
    else:
        problem = f"{character!r} is not allowed in CESQL outside a string"
    return FilterError(problem, source=text, position=position, value=character)

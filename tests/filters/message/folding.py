"""Texts without the difference of upper and lower case, as RE2's `(?i)` sees them.

That is Unicode's simple case folding, one character for one: `ẞ` equals `ß`, and neither equals `ss`. Letters
that are newer than Python's Unicode tables fold to themselves here.
"""

from __future__ import annotations

from functools import lru_cache

# Simple foldings of Unicode 15.1; the tables of older versions of Python have only the full ones.
_LATE = {"\u1fd3": "\u0390", "\u1fe3": "\u03b0", "\ufb05": "\ufb06"}


def fold(text: str) -> str:
    """Return the text by which texts that differ in case only are equal; it has the same length."""
    return text.lower() if text.isascii() else "".join(map(_fold_character, text))


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    if character in _LATE:
        return _LATE[character]
    for folded in (character.casefold(), character.lower()):
        if len(folded) == 1:
            return folded
    return character

"""Texts without the difference of upper and lower case, as RE2's `(?i)` sees them.

That is Unicode's simple case folding, one character for one: `ẞ` equals `ß`, and neither equals `ss`.
"""

from __future__ import annotations

from functools import lru_cache


def fold(text: str) -> str:
    """Return the text by which texts that differ in case only are equal; it has the same length."""
    return text.lower() if text.isascii() else "".join(map(_fold_character, text))


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    for folded in (character.casefold(), character.lower()):
        if len(folded) == 1:
            return folded
    return character

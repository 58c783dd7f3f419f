"""API keys: what one looks like, and what is kept of it.

`hr_`, ten characters that name it, `_`, 43 that are secret, and six that check for a slip of the hand or of the
clipboard: a scanner of repositories finds it by its form and can tell it from noise. The secret has 256 random bits,
which nobody guesses, fast as the hash may be: what slow hashes are for, the guessing of words that people choose, has
no hold here. So SHA-256 it is, and a look at a key takes microseconds on the way of every event.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from zlib import crc32

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ID, _SECRET, _CHECK = 10, 43, 6
PREFIX = "hr_"
_FORM = re.compile(rf"{PREFIX}([0-9A-Za-z]{{{_ID}}})_([0-9A-Za-z]{{{_SECRET}}})([0-9A-Za-z]{{{_CHECK}}})")


@dataclass(frozen=True, slots=True)
class KeyText:
    """A key as its holder has it. Be careful: the text itself is shown once and kept nowhere."""

    id: str
    text: str = field(repr=False)

    @property
    def digest(self) -> bytes:
        """What is kept of it."""
        return hashlib.sha256(self.text.encode()).digest()


def new_key() -> KeyText:
    """Make a key."""
    body = f"{PREFIX}{_random(_ID)}_{_random(_SECRET)}"
    return KeyText(body[len(PREFIX) : len(PREFIX) + _ID], body + _check(body))


def read_key(text: str) -> KeyText | None:
    """Return the key that a text is; None where it is none, or was mistyped."""
    found = _FORM.fullmatch(text)
    if found is None or _check(text[:-_CHECK]) != found[3]:
        return None
    return KeyText(found[1], text)


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


def _check(body: str) -> str:
    number, digits = crc32(body.encode()), ""
    for _ in range(_CHECK):
        number, digit = divmod(number, len(_ALPHABET))
        digits = _ALPHABET[digit] + digits
    return digits

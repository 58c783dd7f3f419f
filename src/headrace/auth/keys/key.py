"""The form of API keys, and the digest that is stored.

`hr_`, an id of ten characters, `_`, a secret of 43, and a checksum of six against typing errors; secret scanners
recognise this form and verify the checksum. The secret has 256 random bits, so it can't be guessed however fast the
hash is: slow hashes protect passwords that people choose. So the digest is SHA-256, and checking a key takes
microseconds, which every event pays.
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
    """A key as its holder has it. Be careful: the text is shown once, and must not be stored."""

    id: str
    text: str = field(repr=False)

    @property
    def digest(self) -> bytes:
        """What is stored of the key."""
        return hashlib.sha256(self.text.encode()).digest()


def new_key() -> KeyText:
    """Make a new key."""
    body = f"{PREFIX}{_random(_ID)}_{_random(_SECRET)}"
    return KeyText(body[len(PREFIX) : len(PREFIX) + _ID], body + _check(body))


def read_key(text: str) -> KeyText | None:
    """Parse a key; None if it isn't one, or was mistyped."""
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

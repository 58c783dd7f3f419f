"""Texts: whether they are valid, and how values are written."""

from __future__ import annotations

import math
import reprlib
from decimal import Decimal


class _Repr(reprlib.Repr):
    def repr_int(self, value: int, level: int) -> str:
        # Python refuses to write integers of more than 4300 digits.
        return "a very large integer" if value.bit_length() > 128 else super().repr_int(value, level)


_REPR = _Repr()


def shown(value: object) -> str:
    """Return any value as a short text, for error messages."""
    return _REPR.repr(value)


def is_unicode(text: str) -> bool:
    """Return whether a text is valid Unicode, without lone surrogates, so that it has a UTF-8 form."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
    return True


def write_double(value: float) -> str:
    """Write a double as CEL's `string()` does: the fewest digits that read back, with an exponent from a million on."""
    if not math.isfinite(value):
        return str(value)
    digits = Decimal(repr(value)).normalize()
    if -4 <= digits.adjusted() < 6:
        return format(digits, "f")
    return f"{value:.{len(digits.as_tuple().digits) - 1}e}"

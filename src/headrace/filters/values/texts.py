"""Doubles as CEL's `string()` writes them."""

from __future__ import annotations

import math
from decimal import Decimal


def write_double(value: float) -> str:
    """Return the fewest digits that read back, with an exponent from a million on."""
    if not math.isfinite(value):
        return str(value)
    digits = Decimal(repr(value)).normalize()
    if -4 <= digits.adjusted() < 6:
        return format(digits, "f")
    return f"{value:.{len(digits.as_tuple().digits) - 1}e}"

"""Durations as ISO 8601 writes them: `PT0.5S`, `PT2M`, `P1D`. Years and months have no fixed length and are refused."""

from __future__ import annotations

import re

_NUMBER = r"([0-9]+(?:[.,][0-9]+)?)"
_FORM = re.compile(
    rf"P(?:{_NUMBER}W)?(?:{_NUMBER}D)?(?:T(?=[0-9])(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?"
)
_SECONDS = (7 * 86400.0, 86400.0, 3600.0, 60.0, 1.0)
_LONGEST_TEXT = 40
DURATION = {
    "type": "string",
    "format": "iso8601-duration",
    "pattern": f"^(?!P$){_FORM.pattern}$",
    "maxLength": _LONGEST_TEXT,
    "examples": ["PT0.5S", "P1D"],
}
"""The same as JSON Schema."""


def read_duration(text: object) -> float | None:
    """Return the seconds; None for what is no duration."""
    if not isinstance(text, str) or len(text) > _LONGEST_TEXT:
        return None
    found = _FORM.fullmatch(text)
    if found is None or text == "P":
        return None
    parts = zip(found.groups(), _SECONDS, strict=True)
    return sum(float(part.replace(",", ".")) * seconds for part, seconds in parts if part is not None)


def write_duration(seconds: float) -> str:
    """Return the shortest text that stands for so many seconds."""
    for form, length in (("P{}D", 86400), ("PT{}H", 3600), ("PT{}M", 60), ("PT{}S", 1)):
        if seconds and seconds % length == 0:
            return form.format(int(seconds // length))
    return f"PT{seconds:f}".rstrip("0").rstrip(".") + "S" if seconds else "PT0S"

"""Whole numbers as JSON has them: it knows one kind of number, so `5.0` is 5, as some writers write it."""

from __future__ import annotations


def whole_number(value: object) -> int | None:
    """Return the whole number that a value of JSON is; None where it is something else, true and false included."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None

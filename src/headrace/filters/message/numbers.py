"""Operands as texts, strictly: what isn't exactly a number is refused, not guessed at."""

from __future__ import annotations

import re

from headrace.errors import FilterError
from headrace.filters.message.faults import shown
from headrace.filters.message.operators import ValueType

LONG = "[+-]?[0-9]{1,40}"
DOUBLE = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_LONG, _DOUBLE = re.compile(LONG), re.compile(DOUBLE)


def read_operand(text: str, value_type: ValueType) -> str | int | float:
    """Return the operand that a filter wrote as text; whether it is in range is the predicate's to say."""
    match value_type:
        case ValueType.STRING:
            return text
        case ValueType.LONG if _LONG.fullmatch(text):
            return int(text)
        case ValueType.DOUBLE if _DOUBLE.fullmatch(text):
            return float(text)
        case _:
            raise FilterError(f"{shown(text)} is no {value_type.value}", value=text)


def write_operand(value: str | float) -> str:
    """Return the text from which `read_operand` reads the same value."""
    return value if isinstance(value, str) else repr(value)

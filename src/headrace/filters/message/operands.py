"""Operands as texts, read strictly: what isn't exactly a number is refused."""

from __future__ import annotations

import re

from headrace.errors import FilterError
from headrace.filters.message.operators import ValueType
from headrace.filters.values.texts import shown

LONG = "[+-]?[0-9]{1,40}"
DOUBLE = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_LONG, _DOUBLE = re.compile(LONG), re.compile(DOUBLE)


def read_operand(text: str, value_type: ValueType) -> str | int | float:
    """Return the operand for a text. The predicate checks its range."""
    match value_type:
        case ValueType.STRING:
            return text
        case ValueType.LONG if _LONG.fullmatch(text):
            return int(text)
        case ValueType.DOUBLE if _DOUBLE.fullmatch(text):
            return float(text)
        case _:
            raise FilterError(f"{shown(text)} is not a {value_type.value}", value=text)


def write_operand(value: str | float) -> str:
    """Return the text that `read_operand` reads as the same value."""
    return value if isinstance(value, str) else repr(value)

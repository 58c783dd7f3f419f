"""The part of the protobuf wire format that a syntax tree uses: fields of varints, doubles and bytes."""

from __future__ import annotations

import struct
from typing import TypeAlias

Field: TypeAlias = "tuple[int, int | bytes]"

_VARINT, _FIXED64, _BYTES = 0, 1, 2


def fields(message: bytes) -> list[Field]:
    """Return the fields of a message in order: varints as unsigned integers, the rest as bytes."""
    found: list[Field] = []
    position, end = 0, len(message)
    while position < end:
        tag, position = message[position], position + 1
        if tag >= 0x80:
            tag, position = _varint(message, position - 1)
        wire_type = tag & 7
        if wire_type == _FIXED64:
            found.append((tag >> 3, message[position : position + 8]))
            position += 8
            continue
        number, position = message[position], position + 1
        if number >= 0x80:
            number, position = _varint(message, position - 1)
        if wire_type == _VARINT:
            found.append((tag >> 3, number))
        elif wire_type == _BYTES:
            found.append((tag >> 3, message[position : position + number]))
            position += number
        else:
            raise ValueError(f"wire type {wire_type} does not occur in a syntax tree")
    return found


def signed(number: int) -> int:
    """Convert a varint to a signed 64-bit integer."""
    return number - 2**64 if number >= 2**63 else number


def double(value: bytes) -> float:
    """Decode eight bytes as a double."""
    (number,) = struct.unpack("<d", value)
    return float(number)


def _varint(message: bytes, position: int) -> tuple[int, int]:
    number, shift = 0, 0
    while True:
        byte = message[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position
        shift += 7

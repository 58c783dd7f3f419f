"""The protobuf wire format, as far as a syntax tree needs it: fields of varints, doubles and bytes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

Field: TypeAlias = "tuple[int, int | bytes]"

_VARINT, _FIXED64, _BYTES = 0, 1, 2


def fields(message: bytes) -> Iterator[Field]:
    """Yield the fields of a message in their order: numbers as unsigned integers, the rest as bytes."""
    position, end = 0, len(message)
    while position < end:
        tag, position = _varint(message, position)
        number, wire_type = tag >> 3, tag & 7
        value: int | bytes
        if wire_type == _VARINT:
            value, position = _varint(message, position)
        elif wire_type == _BYTES:
            length, start = _varint(message, position)
            position = start + length
            value = message[start:position]
        elif wire_type == _FIXED64:
            value, position = message[position : position + 8], position + 8
        else:
            raise ValueError(f"wire type {wire_type} has no place in a syntax tree")
        yield number, value


def signed(number: int) -> int:
    """Read a varint as a signed integer of 64 bits."""
    return number - 2**64 if number >= 2**63 else number


def double(value: bytes) -> float:
    """Read eight bytes as a double."""
    (number,) = struct.unpack("<d", value)
    return float(number)


def _varint(message: bytes, position: int) -> tuple[int, int]:
    byte = message[position]
    if byte < 0x80:
        return byte, position + 1
    number, shift = 0, 0
    while True:
        byte = message[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position
        shift += 7

"""Numbers of JSON, as bytes: where they end, and what they are.

A number with neither fraction nor exponent is an integer of 64 bits, any other is the double nearest to it, as
Eisel and Lemire find it from 64 bits of digits and 128 bits of a power of five. `FAULT` stands for whatever
can't be told that way: integers beyond 64 bits, ties that need more digits, doubles below the normal ones or
beyond the largest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from headrace.matching.extraction.cells import DOUBLE, INT
from headrace.matching.machine import (
    Address,
    byte_at,
    compiled,
    high_product,
    inlined,
    leading_zeros,
)
from headrace.matching.scan.strings import FAULT

if TYPE_CHECKING:
    from headrace.matching.scan.buffers import Columns

_LEAST, _MOST = -342, 308  # powers of ten that a normal double of 19 digits can have
_LONGEST = 200
_DIGITS = 19  # always fit 64 bits


def _powers_of_five() -> npt.NDArray[np.uint64]:
    """Return the upper and lower half of the first 128 bits of each power; negative powers rounded up."""
    halves = []
    for exponent in range(_LEAST, _MOST + 1):
        power = 5 ** abs(exponent)
        if exponent < 0:
            bits = power.bit_length() if power & (power - 1) else power.bit_length() - 1
            power = 2 ** (bits + 127 if exponent >= -27 else 2 * bits + 128) // power + 1
        shift = power.bit_length() - 128
        power = power >> shift if shift > 0 else power << -shift
        halves += [power >> 64, power & (2**64 - 1)]
    return np.array(halves, np.uint64)


_FIVES = _powers_of_five()
_1 = np.uint64(1)
_3 = np.uint64(3)
_ONES = np.uint64(2**64 - 1)
_BELOW_PRECISION = np.uint64(2**9 - 1)
_HIDDEN = np.uint64(1 << 52)


@inlined
def after_digits(at: Address, end: Address) -> int:
    """Pass digits, if there are any."""
    while at < end and 0x30 <= byte_at(at) <= 0x39:
        at += 1
    return at


@inlined
def after_whole(at: Address, end: Address) -> int:
    """Pass the digits before a point: at least one, and none after a leading zero."""
    if at >= end:
        return FAULT
    if byte_at(at) == 0x30:
        return at + 1
    after = after_digits(at, end)
    return after if after > at else FAULT


@inlined
def skip_number(at: Address, end: Address) -> int:
    """Pass a number that nobody wants. One that may be beyond the doubles is a `FAULT`, since it is read otherwise."""
    start = at
    at = after_whole(at + (byte_at(at) == 0x2D), end)
    if at < 0:
        return FAULT
    if at < end and byte_at(at) == 0x2E:
        point = at
        at = after_digits(at + 1, end)
        if at == point + 1:
            return FAULT
    if at < end and byte_at(at) | 0x20 == 0x65:
        at += 1
        negative = at < end and byte_at(at) == 0x2D
        at += at < end and (byte_at(at) == 0x2D or byte_at(at) == 0x2B)
        exponent = at
        at = after_digits(at, end)
        if at == exponent or (at - exponent > 2 and not negative):
            return FAULT
    return at if at - start <= _LONGEST else FAULT


@compiled
def read_number(at: Address, end: Address, cell: Columns) -> int:
    """Put a number and its kind into a cell; return where it ends, or `FAULT`."""
    negative = byte_at(at) == 0x2D
    first = at + negative
    at = after_whole(first, end)
    if at < 0:
        return FAULT
    if at >= end or (byte_at(at) != 0x2E and byte_at(at) | 0x20 != 0x65):
        return _read_integer(first, at, negative, cell)
    digits = _value(0, first, at)
    count = at - first
    fraction = 0
    if byte_at(at) == 0x2E:
        point = at
        at = after_digits(at + 1, end)
        fraction = at - point - 1
        if fraction == 0:
            return FAULT
        digits = _value(digits, point + 1, at)
        count += fraction
    last = at
    exponent = 0
    if at < end and byte_at(at) | 0x20 == 0x65:
        at += 1
        below = at < end and byte_at(at) == 0x2D
        at += at < end and (byte_at(at) == 0x2D or byte_at(at) == 0x2B)
        start = at
        at = after_digits(at, end)
        if at == start or at - start > 4:
            return FAULT
        exponent = -_value(0, start, at) if below else _value(0, start, at)
    if count <= _DIGITS:
        bits = _nearest(digits, exponent - fraction)
    else:
        bits = _nearest_of_many(first, last, exponent)
    if bits < 0:
        return FAULT
    cell.kind[0] = DOUBLE
    cell.number[0] = bits | (negative << 63)
    return at


@inlined
def _value(value: int, at: Address, end: Address) -> int:
    """Append digits to a number; beyond 64 bits it wraps."""
    while at < end:
        value = value * 10 + (byte_at(at) - 0x30)
        at += 1
    return value


@inlined
def _read_integer(first: Address, at: Address, negative: bool, cell: Columns) -> int:
    if at - first > _DIGITS:
        return FAULT
    value = _value(0, first, at)
    if value < 0:  # 19 digits wrap at most once, and then to a negative number
        return FAULT
    cell.kind[0] = INT
    cell.number[0] = -value if negative else value
    return at


@compiled
def _nearest_of_many(at: Address, end: Address, power: int) -> int:
    """Do what `_nearest` does for digits (with a point) that 64 bits can't hold.

    Cut after 19 of them, the number lies between two; if both have the same double, that is its double too.
    """
    digits = 0
    count = 0
    after_point = 0
    exact = True
    while at < end:
        byte = byte_at(at)
        if byte == 0x2E:
            after_point = 1
        elif count < _DIGITS:
            digits = digits * 10 + (byte - 0x30)
            count += digits != 0
            power -= after_point
        else:
            exact = exact and byte == 0x30
            power += 1 - after_point
        at += 1
    bits = _nearest(digits, power)
    return bits if exact or bits == _nearest(digits + 1, power) else FAULT


@compiled
def _nearest(digits: int, power: int) -> int:
    """Return the bits of the double nearest to digits (unsigned) times a power of ten, or `FAULT`."""
    if digits == 0:
        return 0
    if power < _LEAST or power > _MOST:
        return FAULT
    zeros = leading_zeros(digits)
    normal = np.uint64(digits << zeros)
    offset = 2 * (power - _LEAST)
    high = high_product(normal, _FIVES[offset])
    low = normal * _FIVES[offset]
    if high & _BELOW_PRECISION == _BELOW_PRECISION:
        more = high_product(normal, _FIVES[offset + 1])
        low += more
        high += _1 if more > low else np.uint64(0)
        if low == _ONES and not -27 <= power <= 55:
            return FAULT
    top = int(high >> np.uint64(63))
    shift = np.uint64(top + 9)
    mantissa = high >> shift
    exponent = ((217706 * power) >> 16) + 63 + top - zeros + 1023
    if exponent <= 0:
        return FAULT
    if low <= _1 and -4 <= power <= 23 and mantissa & _3 == _1 and mantissa << shift == high:
        mantissa ^= _1  # exactly between two doubles: to the even one
    mantissa = (mantissa + (mantissa & _1)) >> _1
    if mantissa >= _HIDDEN << _1:
        mantissa = _HIDDEN
        exponent += 1
    if exponent >= 0x7FF:
        return FAULT
    return (exponent << 52) | int(mantissa ^ _HIDDEN)

"""Values that nobody wants: passed over, but checked as strictly as those that are read."""

from __future__ import annotations

from headrace.matching.machine import Address, byte_at, compiled, inlined
from headrace.matching.scan.numbers import skip_number
from headrace.matching.scan.strings import FAULT, string_end

DEEPEST = 60
"""How many levels a skipped value may have: one bit each of an integer."""


@inlined
def after_space(at: Address, end: Address) -> int:
    """Pass white space."""
    while at < end:
        byte = byte_at(at)
        if byte > 0x20 or (byte != 0x20 and byte != 0x0A and byte != 0x0D and byte != 0x09):  # noqa: PLR1714 - speed
            break
        at += 1
    return at


@inlined
def after_colon(at: Address, end: Address) -> int:
    """Go from the end of a key to its value; return the address of its first byte, or `FAULT`."""
    at = after_space(at, end)
    if at >= end or byte_at(at) != 0x3A:
        return FAULT
    at = after_space(at + 1, end)
    return at if at < end else FAULT


@compiled
def literal_end(at: Address, end: Address) -> int:
    """Pass `null`, `true` or `false`."""
    byte = byte_at(at)
    if byte == 0x6E and end - at >= 4:
        good = byte_at(at + 1) == 0x75 and byte_at(at + 2) == 0x6C and byte_at(at + 3) == 0x6C
        return at + 4 if good else FAULT
    if byte == 0x74 and end - at >= 4:
        good = byte_at(at + 1) == 0x72 and byte_at(at + 2) == 0x75 and byte_at(at + 3) == 0x65
        return at + 4 if good else FAULT
    if byte == 0x66 and end - at >= 5:
        good = byte_at(at + 1) == 0x61 and byte_at(at + 2) == 0x6C
        good = good and byte_at(at + 3) == 0x73 and byte_at(at + 4) == 0x65
        return at + 5 if good else FAULT
    return FAULT


@inlined
def _after_key(at: Address, end: Address, limit: Address) -> int:
    """Pass a key and its colon; `at` may be the end."""
    if at >= end or byte_at(at) != 0x22:
        return FAULT
    close = string_end(at + 1, end, limit)
    return FAULT if close < 0 else after_colon((close >> 1) + 1, end)


@compiled
def skip_value(at: Address, end: Address, limit: Address) -> int:  # noqa: C901, PLR0911, PLR0912 - one loop, no calls back
    """Pass a value of any kind; `at` is its first byte. Return where it ends, or `FAULT`."""
    depth = 0
    objects = 0  # a bit per level, the innermost lowest: whether it is an object
    while True:
        byte = byte_at(at)
        if byte == 0x22:
            close = string_end(at + 1, end, limit)
            if close < 0:
                return FAULT
            at = (close >> 1) + 1
        elif byte in (0x7B, 0x5B):
            if depth == DEEPEST:
                return FAULT
            at = after_space(at + 1, end)
            if at >= end:
                return FAULT
            if byte_at(at) == byte + 2:  # closed at once
                at += 1
            else:
                depth += 1
                objects = objects << 1 | (byte == 0x7B)
                if byte == 0x7B:
                    at = _after_key(at, end, limit)
                    if at < 0:
                        return FAULT
                continue
        elif byte == 0x2D or 0x30 <= byte <= 0x39:
            at = skip_number(at, end)
        else:
            at = literal_end(at, end)
        if at < 0:
            return FAULT
        while True:
            if depth == 0:
                return at
            at = after_space(at, end)
            if at >= end:
                return FAULT
            byte = byte_at(at)
            at += 1
            if byte == 0x2C:
                at = after_space(at, end)
                if objects & 1:
                    at = _after_key(at, end, limit)
                    if at < 0:
                        return FAULT
                elif at >= end:
                    return FAULT
                break
            if byte != 0x5D + 0x20 * (objects & 1):
                return FAULT
            depth -= 1
            objects >>= 1

"""Strings of JSON, as bytes: where they end, and whether everything in them is allowed.

Every function takes addresses: `at` is where it stands, `end` where the document ends, `limit` the last address
from which a whole block may be loaded. `FAULT` says that the text isn't certain to be JSON.
"""

from __future__ import annotations

from headrace.matching.machine import (
    WIDTH,
    Address,
    byte_at,
    compiled,
    inlined,
    striking,
    trailing_zeros,
    word_at,
)

FAULT = -1

_WORD_SLACK = WIDTH - 8
_MIX = -7046029254386353131  # 2**64 / golden ratio, odd


@inlined
def string_end(at: Address, end: Address, limit: Address) -> int:
    """Find the quote that closes a string; `at` is past the one that opens it.

    Returns twice the address of that quote, plus 1 if there was an escape before it; or `FAULT`.
    """
    escaped = 0
    while at < end:
        if at <= limit:
            found = striking(at)
            if found == 0:
                at += WIDTH
                continue
            at += trailing_zeros(found)
            if at >= end:
                return FAULT
        byte = byte_at(at)
        if byte == 0x22:
            return at * 2 + escaped
        if byte == 0x5C:
            escaped = 1
            at = _after_escape(at, end)
        elif byte >= 0x80:
            at = _after_wide(at, end)
        elif byte < 0x20:
            return FAULT
        else:
            at += 1
        if at < 0:
            return FAULT
    return FAULT


@compiled
def _after_escape(at: Address, end: Address) -> int:
    if end - at < 2:
        return FAULT
    byte = byte_at(at + 1)
    if byte == 0x75:
        return _after_code(at, end)
    if byte in (0x22, 0x5C, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74):
        return at + 2
    return FAULT


@compiled
def _after_code(at: Address, end: Address) -> int:
    """Pass `\\uXXXX`, or two of them if the first is the upper half of a pair."""
    code = code_at(at, end)
    if code < 0 or 0xDC00 <= code < 0xE000:
        return FAULT
    if code < 0xD800 or code >= 0xE000:
        return at + 6
    lower = code_at(at + 6, end)
    return at + 12 if 0xDC00 <= lower < 0xE000 else FAULT


@compiled
def code_at(at: Address, end: Address) -> int:
    """Return the number in `\\uXXXX`, or `FAULT`."""
    if end - at < 6 or byte_at(at) != 0x5C or byte_at(at + 1) != 0x75:
        return FAULT
    code = 0
    for offset in range(2, 6):
        byte = byte_at(at + offset)
        letter = byte | 0x20
        if 0x30 <= byte <= 0x39:
            code = code * 16 + byte - 0x30
        elif 0x61 <= letter <= 0x66:
            code = code * 16 + letter - 0x57
        else:
            return FAULT
    return code


@compiled
def _after_wide(at: Address, end: Address) -> int:  # noqa: PLR0911 - each return is a rule of UTF-8
    """Pass a run of characters beyond ASCII, which must be well-formed UTF-8."""
    while at < end:
        lead = byte_at(at)
        if lead < 0x80:
            return at
        if lead < 0xC2 or lead > 0xF4:
            return FAULT
        size = 2 + (lead >= 0xE0) + (lead >= 0xF0)
        if end - at < size:
            return FAULT
        second = byte_at(at + 1)
        if second & 0xC0 != 0x80:
            return FAULT
        if size > 2:
            if _is_out_of_range(lead, second) or byte_at(at + 2) & 0xC0 != 0x80:
                return FAULT
            if size > 3 and byte_at(at + 3) & 0xC0 != 0x80:
                return FAULT
        at += size
    return at


@compiled
def _is_out_of_range(lead: int, second: int) -> bool:
    """Find overlong forms, surrogates, and what lies beyond the last character."""
    return (
        (lead == 0xE0 and second < 0xA0)
        or (lead == 0xED and second >= 0xA0)
        or (lead == 0xF0 and second < 0x90)
        or (lead == 0xF4 and second >= 0x90)
    )


@inlined
def hash_of(at: Address, length: int, limit: Address, seed: int) -> int:
    """Mix the bytes, eight at a time; `hash_of_bytes` is the same for Python's bytes."""
    mixed = seed ^ length
    while length > 0:
        mixed = (mixed ^ _word(at, length, limit)) * _MIX
        mixed ^= (mixed >> 32) & 0xFFFFFFFF
        at += 8
        length -= 8
    return mixed


def hash_of_bytes(text: bytes, seed: int) -> int:
    """Do what `hash_of` does."""
    mixed = seed ^ len(text)
    for offset in range(0, len(text), 8):
        mixed = (mixed ^ int.from_bytes(text[offset : offset + 8], "little")) * _MIX & (2**64 - 1)
        mixed ^= mixed >> 32
    return mixed - 2**64 if mixed >= 2**63 else mixed


@inlined
def is_same(at: int, other: Address, length: int, limit: Address) -> bool:
    """Compare bytes; those at `other` are followed by at least eight bytes of zeros."""
    while length > 0:
        if _word(at, length, limit) != word_at(other):
            return False
        at += 8
        other += 8
        length -= 8
    return True


@inlined
def _word(at: Address, length: int, limit: Address) -> int:
    """Load up to eight bytes, zeros after the last."""
    if length >= 8:
        return word_at(at)
    if at <= limit + _WORD_SLACK:
        return word_at(at) & ((1 << (8 * length)) - 1)
    word = 0
    for offset in range(length):
        word |= byte_at(at + offset) << (8 * offset)
    return word

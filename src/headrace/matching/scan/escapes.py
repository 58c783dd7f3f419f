"""Strings that had escapes, written anew without them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.matching.extraction.cells import STRING
from headrace.matching.machine import (
    Address,
    Long,
    Many,
    Record,
    address_of,
    addresses,
    byte_at,
    compiled,
    kernel,
    put_byte,
)
from headrace.matching.scan.strings import code_at

if TYPE_CHECKING:
    from headrace.matching.extraction.cells import Cells, Elements

_Bytes: TypeAlias = npt.NDArray[np.uint8]


def unescape(text: _Bytes, cells: Cells) -> _Bytes:
    """Return the strings with escapes, whose lengths are negative, without them; they come behind the text."""
    elements = cells.elements
    behind = _unescape_all(text, cells, len(cells.kind), len(text))
    more = _unescape_all(text, elements, elements.used, len(text) + len(behind))
    return np.concatenate((behind, more)) if len(more) else behind


def _unescape_all(text: _Bytes, cells: Cells | Elements, rows: int, behind: int) -> _Bytes:
    kind, start, length = (each[:rows].reshape(-1) for each in (cells.kind, cells.start, cells.length))
    escaped = np.flatnonzero((kind == STRING) & (length < 0))
    lengths = -length[escaped].astype(np.int64)
    plain = np.empty(int(lengths.sum()), np.uint8)  # an escape is longer than what it stands for
    ends = np.zeros(len(escaped) + 1, np.int64)
    arrays = text, start[escaped], lengths, plain, ends
    strings = addresses(_Strings, arrays)
    _unescape_each(address_of(strings), len(escaped))
    start[escaped] = ends[:-1] + behind
    length[escaped] = np.diff(ends)
    return plain[: ends[-1]]


class _Strings(Record):
    text: Address
    starts: Many[Long]
    lengths: Many[Long]
    plain: Address
    ends: Many[Long]


@kernel
def _unescape_each(strings: Address, count: int) -> None:
    """Write strings, all of whose escapes are whole, one after the other; note where each of them ends."""
    s = _Strings(strings)
    to = s.plain
    for each in range(count):
        at = s.text + s.starts[each]
        end = at + s.lengths[each]
        while at < end:
            byte = byte_at(at)
            if byte != 0x5C:
                put_byte(to, byte)
                at, to = at + 1, to + 1
            elif byte_at(at + 1) != 0x75:
                put_byte(to, _meant(byte_at(at + 1)))
                at, to = at + 2, to + 1
            else:
                code = code_at(at, end)
                at += 6
                if 0xD800 <= code < 0xE000:
                    code = 0x10000 + ((code - 0xD800) << 10) + code_at(at, end) - 0xDC00
                    at += 6
                to = _put_character(to, code)
        s.ends[each + 1] = to - s.plain


@compiled
def _meant(letter: int) -> int:
    """Return what a letter behind a backslash stands for: itself, if nothing else."""
    if letter == 0x62:
        return 0x08
    if letter == 0x66:
        return 0x0C
    if letter == 0x6E:
        return 0x0A
    if letter == 0x72:
        return 0x0D
    return 0x09 if letter == 0x74 else letter


@compiled
def _put_character(to: Address, code: int) -> Address:
    """Write a character in UTF-8; return where the next one goes."""
    if code < 0x80:
        put_byte(to, code)
        return to + 1
    if code < 0x800:
        put_byte(to, 0xC0 | code >> 6)
    else:
        if code < 0x10000:
            put_byte(to, 0xE0 | code >> 12)
        else:
            put_byte(to, 0xF0 | code >> 18)
            to += 1
            put_byte(to, 0x80 | (code >> 12 & 0x3F))
        to += 1
        put_byte(to, 0x80 | (code >> 6 & 0x3F))
    put_byte(to + 1, 0x80 | (code & 0x3F))
    return to + 2

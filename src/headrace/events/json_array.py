"""A long JSON array, cut into short ones, so that nobody has to wait while all of it is read.

Only quotes, brackets and commas are looked at. That is enough: where every part is an array that isn't empty, the whole
is an array of all their elements, and where the whole is one, its commas are found.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

PART_BYTES = 1 << 16
_SHORT = 2 * PART_BYTES
"""What is read as a whole: of the smallest events it takes about 20 milliseconds."""
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_QUOTE, _COMMA, _OPEN, _CLOSE = 1, 2, 3, 4
_STRUCTURE = {ord('"'): _QUOTE, ord(","): _COMMA}
_STRUCTURE |= dict.fromkeys(b"[{", _OPEN) | dict.fromkeys(b"]}", _CLOSE)
_KINDS = bytes(_STRUCTURE.get(character, 0) for character in range(256))


class ArrayChunk(NamedTuple):
    """Some elements, as an array of their own, and where in the whole the first of them begins."""

    text: bytes
    start: int


def split_array(array: bytes, size: int = PART_BYTES) -> Iterator[ArrayChunk]:
    """Yield arrays of about this size; an element that is longer is alone. What is no array comes as one part.

    A part without a text has nothing in it: it is for those who have something else to do meanwhile.

    Be careful: only who finds every part to be an array that isn't empty knows that the whole was one.
    """
    begin = re.match(rb"\s*\[", array)
    if begin is None or len(array) <= (_SHORT if size == PART_BYTES else size):
        yield ArrayChunk(array, 0)
        return
    start = look = begin.end()
    view = memoryview(array)  # what is taken of it is copied once
    depth, in_string = 0, False
    while look < len(array):
        window = _window(array, look, size)
        comma, depth, in_string = _last_comma(window, depth, in_string)
        if comma is not None:
            yield ArrayChunk(b"".join((b"[", view[start : look + comma], b"]")), start)
            start = look = look + comma + 1
            depth, in_string = 0, False
        else:
            look += len(window)
            yield ArrayChunk(b"", start)  # a long element takes long to look at, too
    yield ArrayChunk(b"".join((b"[", view[start:])), start)


def _window(array: bytes, start: int, size: int) -> bytes:
    """Return what is looked at next: it doesn't end between a backslash and what that escapes."""
    window = array[start : start + size]
    backslashes = len(window) - len(window.rstrip(b"\\"))
    return array[start : start + size + 1] if backslashes % 2 else window


def _last_comma(window: bytes, depth: int, in_string: bool) -> tuple[int | None, int, bool]:
    """Return the place of the last comma that isn't inside of an element, and how deep the window ends."""
    if b"\\" in window:
        window = _ESCAPE.sub(b"__", window)
    kinds: npt.NDArray[np.uint8] = np.frombuffer(window.translate(_KINDS), np.uint8)
    places = np.flatnonzero(kinds != 0)
    found = kinds[places]
    quoted = np.logical_xor.accumulate(found == _QUOTE) ^ in_string
    steps = np.zeros(len(found), np.int32)
    steps[(found == _OPEN) & ~quoted] = 1
    steps[(found == _CLOSE) & ~quoted] = -1
    depths = np.cumsum(steps) + depth
    commas = places[(found == _COMMA) & (depths == 0) & ~quoted]
    last = int(commas[-1]) if len(commas) else None
    return last, int(depths[-1]) if len(found) else depth, bool(quoted[-1]) if len(found) else in_string

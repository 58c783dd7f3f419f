"""Extensions out of the map columns: one pass over the names of each row, one over the types of what is no string."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headrace.matching.extraction.cells import ABSENT, FALSE, INT, STRING, TRUE
from headrace.matching.machine import (
    Address,
    Byte,
    Long,
    Many,
    Record,
    Short,
    address_of,
    addresses,
    compiled,
    kernel,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from headrace.matching.extraction.cells import Cells

    Bytes = npt.NDArray[np.uint8]
    Longs = npt.NDArray[np.int64]

_BOOLEAN, _JSON, _T, _MINUS, _ZERO = b"bjt-0"  # of types and texts the first byte tells all
_SHORT = 18
"""So many digits of an integer, or its sign and one digit less, are certain to fit 64 bits."""


@dataclass(frozen=True, slots=True)
class Map:
    """A column of maps: row i has the names and texts from rows[i] to rows[i + 1]."""

    rows: Longs
    name_ends: Longs
    names: Bytes
    text_ends: Longs
    texts: Bytes


class _Map(Record):
    """The arrays of a `Map`."""

    rows: Many[Long]
    name_ends: Many[Long]
    names: Many[Byte]
    text_ends: Many[Long]
    texts: Many[Byte]


class _To(Record):
    """The names that are wanted, the columns of their cells, the cells, and which rows must be read otherwise."""

    names: Many[Byte]
    ends: Many[Long]
    columns: Many[Long]
    kind: Many[Byte]
    number: Many[Long]
    start: Many[Long]
    length: Many[Short]
    untold: Many[Byte]


class _Sizes(Record):
    """How many rows there are, columns in each, and names; and where the cells begin to count texts."""

    rows: Long
    width: Long
    wanted: Long
    origin: Long


def read_extensions(
    extensions: Map, types: Map, wanted: tuple[tuple[int, str], ...], start: int, cells: Cells
) -> Longs:
    """Fill the columns of the wanted names, whose texts the cells know from `start` on.

    Returns the rows that must be read otherwise: those that have JSON, or an integer that isn't short.
    """
    encoded = [name.encode(errors="surrogatepass") for _, name in wanted]
    names, ends = (
        np.frombuffer(b"".join(encoded), np.uint8),
        np.cumsum([0, *map(len, encoded)]).astype(np.int64),
    )
    columns = np.array([column for column, _ in wanted], np.int64)
    rows, width = cells.kind.shape
    untold = np.zeros(rows, np.bool_)
    to = addresses(_To, (names, ends, columns, cells.kind, cells.number, cells.start, cells.length, untold))
    sizes = np.array([rows, width, len(wanted), start], np.int64)
    texts, others = addresses(_Map, _arrays(extensions)), addresses(_Map, _arrays(types))
    _read_texts(address_of(texts), address_of(to), address_of(sizes))
    _read_types(address_of(others), address_of(texts), address_of(to), address_of(sizes))
    return np.flatnonzero(untold)


def _arrays(column: Map) -> tuple[npt.NDArray[np.uint8] | npt.NDArray[np.int64], ...]:
    return column.rows, column.name_ends, column.names, column.text_ends, column.texts


@compiled
def _column_of(map_: _Map, entry: int, to: _To, wanted: int) -> int:
    """Return the column of an entry's name, or -1 where nobody wants it."""
    first = map_.name_ends[entry]
    size = map_.name_ends[entry + 1] - first
    for each in range(wanted):
        start = to.ends[each]
        if to.ends[each + 1] - start != size:
            continue
        offset = 0
        while offset < size and map_.names[first + offset] == to.names[start + offset]:
            offset += 1
        if offset == size:
            return to.columns[each]
    return -1


@kernel
def _read_texts(texts: Address, cells: Address, sizes: Address) -> None:
    """Read every extension as if it were a string."""
    map_, to, n = _Map(texts), _To(cells), _Sizes(sizes)
    rows, ends, width, wanted, origin = map_.rows, map_.text_ends, n.width, n.wanted, n.origin
    columns, kind, start, length = to.columns, to.kind, to.start, to.length
    for row in range(n.rows):
        for each in range(wanted):
            kind[row * width + columns[each]] = ABSENT
        for entry in range(rows[row], rows[row + 1]):
            column = _column_of(map_, entry, to, wanted)
            if column >= 0:
                cell = row * width + column
                kind[cell] = STRING
                start[cell] = origin + ends[entry]
                length[cell] = ends[entry + 1] - ends[entry]


@kernel
def _read_types(types: Address, texts: Address, cells: Address, sizes: Address) -> None:
    """Go over those that are no strings, once their texts are in the cells."""
    map_, text, to, n = _Map(types), _Map(texts).texts, _To(cells), _Sizes(sizes)
    for row in range(n.rows):
        for entry in range(map_.rows[row], map_.rows[row + 1]):
            type_ = map_.texts[map_.text_ends[entry]]
            column = _column_of(map_, entry, to, n.wanted)
            if type_ == _JSON:
                to.untold[row] = True
            elif column >= 0:
                cell = row * n.width + column
                first, length = to.start[cell] - n.origin, to.length[cell]
                if type_ == _BOOLEAN:
                    to.kind[cell] = TRUE if text[first] == _T else FALSE
                elif length <= _SHORT:
                    to.kind[cell] = INT
                    to.number[cell] = _integer(text, first, first + length)
                else:
                    to.untold[row] = True


@compiled
def _integer(text: Many[Byte], first: int, last: int) -> int:
    negative = text[first] == _MINUS
    value = 0
    for offset in range(first + int(negative), last):
        value = 10 * value + text[offset] - _ZERO
    return -value if negative else value

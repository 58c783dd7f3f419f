"""Extensions out of the map columns: one pass over the names of each row, one over the types of what is no string."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from headrace.matching.extraction.cells import ABSENT, FALSE, INT, STRING, TRUE
from headrace.matching.machine import compiled, kernel

if TYPE_CHECKING:
    import numpy.typing as npt

    from headrace.matching.extraction.cells import Cells

    Bytes = npt.NDArray[np.uint8]
    Shorts = npt.NDArray[np.int32]
    Longs = npt.NDArray[np.int64]

_BOOLEAN, _JSON, _T, _MINUS, _ZERO = b"bjt-0"  # of types and texts the first byte tells all
_SHORT = 18
"""So many digits of an integer, or its sign and one digit less, are certain to fit 64 bits."""


class Map(NamedTuple):
    """A column of maps: row i has the names and texts from rows[i] to rows[i + 1]."""

    rows: Longs
    name_ends: Longs
    names: Bytes
    text_ends: Longs
    texts: Bytes


class _Sought(NamedTuple):
    """The names that are wanted, and the columns of their cells."""

    names: Bytes
    ends: Longs
    columns: Longs


class _Columns(NamedTuple):
    """The arrays of `Cells`."""

    kind: Bytes
    number: Longs
    start: Longs
    length: Shorts


def read_extensions(
    extensions: Map, types: Map, wanted: tuple[tuple[int, str], ...], start: int, cells: Cells
) -> Longs:
    """Fill the columns of the wanted names, whose texts the cells know from `start` on.

    Returns the rows that must be read otherwise: those that have JSON, or an integer that isn't short.
    """
    encoded = [name.encode(errors="surrogatepass") for _, name in wanted]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int64)
    columns = np.array([column for column, _ in wanted], np.int64)
    sought = _Sought(_frozen(np.frombuffer(b"".join(encoded), np.uint8)), _frozen(ends), _frozen(columns))
    extensions, types = (Map(*[_frozen(array) for array in each]) for each in (extensions, types))
    to = _Columns(cells.kind, cells.number, cells.start, cells.length)
    _read_texts(extensions, sought, start, to)
    untold = np.zeros(len(extensions.rows) - 1, np.bool_)
    _read_types(types, extensions.texts, sought, start, to, untold)
    return np.flatnonzero(untold)


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make a view that can't be written: then a kernel is compiled once, for arrays from anywhere."""
    view = array.view()
    view.flags.writeable = False
    return view


@compiled
def _column_of(map_: Map, entry: int, sought: _Sought) -> int:
    """Return the column of an entry's name, or -1 where nobody wants it."""
    first = map_.name_ends[entry]
    size = map_.name_ends[entry + 1] - first
    for each in range(len(sought.columns)):
        start = sought.ends[each]
        if sought.ends[each + 1] - start != size:
            continue
        offset = 0
        while offset < size and map_.names[first + offset] == sought.names[start + offset]:
            offset += 1
        if offset == size:
            return int(sought.columns[each])
    return -1


@kernel
def _read_texts(extensions: Map, sought: _Sought, origin: int, to: _Columns) -> None:
    """Read every extension as if it were a string."""
    ends = extensions.text_ends
    for row in range(len(extensions.rows) - 1):
        for each in range(len(sought.columns)):
            to.kind[row, sought.columns[each]] = ABSENT
        for entry in range(extensions.rows[row], extensions.rows[row + 1]):
            column = _column_of(extensions, entry, sought)
            if column >= 0:
                to.kind[row, column] = STRING
                to.start[row, column] = origin + ends[entry]
                to.length[row, column] = ends[entry + 1] - ends[entry]


@kernel
def _read_types(
    types: Map, texts: Bytes, sought: _Sought, origin: int, to: _Columns, untold: npt.NDArray[np.bool_]
) -> None:
    """Go over those that are no strings, once their texts are in the cells."""
    for row in range(len(types.rows) - 1):
        for entry in range(types.rows[row], types.rows[row + 1]):
            type_ = types.texts[types.text_ends[entry]]
            column = _column_of(types, entry, sought)
            if type_ == _JSON:
                untold[row] = True
            elif column >= 0:
                first, length = to.start[row, column] - origin, to.length[row, column]
                if type_ == _BOOLEAN:
                    to.kind[row, column] = TRUE if texts[first] == _T else FALSE
                elif length <= _SHORT:
                    to.kind[row, column] = INT
                    to.number[row, column] = _integer(texts, first, first + length)
                else:
                    untold[row] = True


@compiled
def _integer(texts: Bytes, first: int, last: int) -> int:
    negative = texts[first] == _MINUS
    value = 0
    for offset in range(first + negative, last):
        value = 10 * value + int(texts[offset]) - _ZERO
    return -value if negative else value

"""Extensions out of the map columns: one pass over the names of each row, one over the types of what is no string."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.extraction.cells import ABSENT, FALSE, INT, STRING, TRUE
from headrace.matching.machine import compiled, kernel

if TYPE_CHECKING:
    import numpy.typing as npt

    from headrace.matching.extraction.cells import Cells

    Numbers = npt.NDArray[Any]

_BOOLEAN, _JSON, _T, _MINUS, _ZERO = b"bjt-0"  # of types and texts the first byte tells all
_SHORT = 18
"""So many digits of an integer, or its sign and one digit less, are certain to fit 64 bits."""


@dataclass(frozen=True, slots=True)
class Map:
    """A column of maps: row i has the names and texts from rows[i] to rows[i + 1]."""

    rows: Numbers
    name_ends: Numbers
    names: Numbers
    text_ends: Numbers
    texts: Numbers


def read_extensions(
    extensions: Map, types: Map, wanted: tuple[tuple[int, str], ...], start: int, cells: Cells
) -> Numbers:
    """Fill the columns of the wanted names, whose texts the cells know from `start` on.

    Returns the rows that must be read otherwise: those that have JSON, or an integer that isn't short.
    """
    encoded = [name.encode(errors="surrogatepass") for _, name in wanted]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int64)
    columns = np.array([column for column, _ in wanted], np.int64)
    sought = np.frombuffer(b"".join(encoded), np.uint8), ends, columns
    frozen = [_frozen(each) for each in (*_arrays(extensions), *sought)]
    _read_texts(*frozen, start, cells.kind, cells.start, cells.length)
    untold = np.zeros(len(extensions.rows) - 1, np.bool_)
    frozen = [_frozen(each) for each in (*_arrays(types), *sought, extensions.texts)]
    _read_types(*frozen, start, cells.kind, cells.number, cells.start, cells.length, untold)
    return np.flatnonzero(untold)


def _arrays(column: Map) -> tuple[Numbers, ...]:
    return column.rows, column.name_ends, column.names, column.text_ends, column.texts


def _frozen(array: Numbers) -> Numbers:
    view = array.view()
    view.flags.writeable = False
    return view


@compiled
def _column_of(name_ends: Any, names: Any, entry: Any, sought: Any, ends: Any, columns: Any) -> Any:
    """Return the column of an entry's name, or -1 where nobody wants it."""
    first = name_ends[entry]
    size = name_ends[entry + 1] - first
    for each in range(len(columns)):
        if ends[each + 1] - ends[each] != size:
            continue
        offset = 0
        while offset < size and names[first + offset] == sought[ends[each] + offset]:
            offset += 1
        if offset == size:
            return columns[each]
    return -1


@kernel
def _read_texts(
    rows: Any,
    name_ends: Any,
    names: Any,
    text_ends: Any,
    _texts: Any,
    sought: Any,
    ends: Any,
    columns: Any,
    origin: Any,
    kind: Any,
    start: Any,
    length: Any,
) -> Any:
    """Read every extension as if it were a string."""
    for row in range(len(rows) - 1):
        for each in range(len(columns)):
            kind[row, columns[each]] = ABSENT
        for entry in range(rows[row], rows[row + 1]):
            column = _column_of(name_ends, names, entry, sought, ends, columns)
            if column >= 0:
                kind[row, column] = STRING
                start[row, column] = origin + text_ends[entry]
                length[row, column] = text_ends[entry + 1] - text_ends[entry]


@kernel
def _read_types(
    rows: Any,
    name_ends: Any,
    names: Any,
    type_ends: Any,
    types: Any,
    sought: Any,
    ends: Any,
    columns: Any,
    texts: Any,
    origin: Any,
    kind: Any,
    number: Any,
    start: Any,
    length: Any,
    untold: Any,
) -> Any:
    """Go over those that are no strings, once their texts are in the cells."""
    for row in range(len(rows) - 1):
        for entry in range(rows[row], rows[row + 1]):
            type_ = types[type_ends[entry]]
            column = _column_of(name_ends, names, entry, sought, ends, columns)
            if type_ == _JSON:
                untold[row] = True
            elif column >= 0:
                first = start[row, column] - origin
                if type_ == _BOOLEAN:
                    kind[row, column] = TRUE if texts[first] == _T else FALSE
                elif length[row, column] <= _SHORT:
                    kind[row, column] = INT
                    number[row, column] = _integer(texts, first, first + length[row, column])
                else:
                    untold[row] = True


@compiled
def _integer(texts: Any, first: Any, last: Any) -> Any:
    negative = texts[first] == _MINUS
    value = np.int64(0)
    for offset in range(first + negative, last):
        value = 10 * value + np.int64(texts[offset]) - _ZERO
    return -value if negative else value

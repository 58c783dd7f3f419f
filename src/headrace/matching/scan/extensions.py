"""Extensions out of the map column: one pass over the names of each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.cells import ABSENT, STRING
from headrace.matching.machine import kernel

if TYPE_CHECKING:
    import numpy.typing as npt

    from headrace.matching.cells import Cells

    Numbers = npt.NDArray[Any]


def read_extensions(
    rows: Numbers,
    name_offsets: Numbers,
    names: Numbers,
    value_offsets: Numbers,
    wanted: tuple[tuple[int, str], ...],
    cells: Cells,
) -> None:
    """Fill the columns of the wanted names: row i has the names and values from rows[i] to rows[i + 1]."""
    if not wanted:
        return
    encoded = [name.encode(errors="surrogatepass") for _, name in wanted]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int64)
    columns = np.array([column for column, _ in wanted], np.int64)
    text = np.frombuffer(b"".join(encoded), np.uint8)
    arrays = [
        _frozen(each) for each in (rows - rows[0], name_offsets, names, value_offsets, text, ends, columns)
    ]
    _read(*arrays, cells.kind, cells.start, cells.length)


def _frozen(array: Numbers) -> Numbers:
    view = array.view()
    view.flags.writeable = False
    return view


@kernel
def _read(
    rows: Any,
    name_offsets: Any,
    names: Any,
    value_offsets: Any,
    text: Any,
    ends: Any,
    columns: Any,
    kind: Any,
    start: Any,
    length: Any,
) -> Any:
    for row in range(len(rows) - 1):
        for each in range(len(columns)):
            kind[row, columns[each]] = ABSENT
        for entry in range(rows[row], rows[row + 1]):
            first = name_offsets[entry]
            size = name_offsets[entry + 1] - first
            for each in range(len(columns)):
                if ends[each + 1] - ends[each] != size:
                    continue
                place = 0
                while place < size and names[first + place] == text[ends[each] + place]:
                    place += 1
                if place == size:
                    column = columns[each]
                    kind[row, column] = STRING
                    start[row, column] = value_offsets[entry]
                    length[row, column] = value_offsets[entry + 1] - value_offsets[entry]

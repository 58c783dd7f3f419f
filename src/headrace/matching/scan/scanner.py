"""JSON documents -> cells, in one walk over the bytes of each.

A document is `odd` when the walk isn't certain to read it as the filters' reference does: it is malformed or
may be; a key beside wanted ones has an escape; a wanted key stands twice; a wanted number is beyond 64 bits or
beyond what `numbers` can round; it is deeper than the reference surely takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from headrace.matching.machine import WIDTH, kernel
from headrace.matching.scan.buffers import FULL, Columns, Room, Text, Tree, address_of, cell_of, forget
from headrace.matching.scan.escapes import unescape
from headrace.matching.scan.walk import walk

if TYPE_CHECKING:
    from headrace.matching.extraction.cells import Cells
    from headrace.matching.scan.trie import PathTrie

_BROKEN = -3
_NOTHING = np.empty(0, np.uint8)

_T = TypeVar("_T", bound=np.generic)
_Bytes: TypeAlias = npt.NDArray[np.uint8]
_Ints: TypeAlias = npt.NDArray[np.int64]
_Shorts: TypeAlias = npt.NDArray[np.int32]


def scan(
    text: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    trie: PathTrie,
    cells: Cells,
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.uint8]]:
    """Fill the cells of the given rows: document i is text[starts[i]:ends[i]] and goes to cells row rows[i].

    Returns `odd`, documents that must be read by other means, whose cells are NOWHERE; and more text, which cells
    point to as if it lay behind the text. Documents and rows that don't lie in the text and the cells raise
    `IndexError`.
    """
    if not len(starts) == len(ends) == len(rows) or trie.width > cells.kind.shape[1]:
        raise IndexError(
            f"{len(starts)} starts, {len(ends)} ends, {len(rows)} rows; {trie.width} columns wanted"
        )
    odd = np.zeros(len(starts), np.bool_)
    elements = cells.elements
    state = np.array(
        [0, elements.used, 0], np.int64
    )  # the next document, elements in use, whether some escape
    seen = np.full(len(trie.nodes), -1, np.int64)
    taken = (
        _frozen(text, np.uint8),
        *(_frozen(array, np.int64) for array in (starts, ends, rows)),
        *(trie.nodes, trie.slots, trie.keys, cells.kind.shape[1]),
        *(array.ravel() for array in (cells.kind, cells.number, cells.start, cells.length)),
    )
    while True:
        room = elements.kind, elements.number, elements.start, elements.length
        verdict = _scan_all(*taken, *room, state, seen, odd)
        elements.used = int(state[1])
        if verdict != FULL:
            break
        elements.grow()
    if verdict == _BROKEN:
        raise IndexError(f"document {state[0]} or its row lies outside of the text or the cells")
    return odd, unescape(taken[0], cells) if state[2] else _NOTHING


def _frozen(array: npt.NDArray[Any], kind: type[_T]) -> npt.NDArray[_T]:
    """Make a view that can't be written: then the kernel is compiled once, for arrays from anywhere."""
    view = np.ascontiguousarray(array, kind).view()
    view.flags.writeable = False
    return view


@kernel
def _scan_all(
    text: _Bytes,
    starts: _Ints,
    ends: _Ints,
    rows: _Ints,
    nodes: _Ints,
    slots: _Ints,
    keys: _Bytes,
    fields: int,
    kind: _Bytes,
    number: _Ints,
    start: _Ints,
    length: _Shorts,
    element_kind: _Bytes,
    element_number: _Ints,
    element_start: _Ints,
    element_length: _Shorts,
    state: _Ints,
    seen: _Ints,
    odd: npt.NDArray[np.bool_],
) -> int:
    """Scan from the document in `state` on, to the last one or to the one that finds no room for elements."""
    source = Text(address_of(text), address_of(text) + text.size - WIDTH, address_of(state) + 16)
    tree = Tree(address_of(nodes), address_of(slots), len(slots) - 1, address_of(keys), address_of(seen))
    columns = Columns(address_of(kind), address_of(number), address_of(start), address_of(length))
    room = Room(
        Columns(
            address_of(element_kind),
            address_of(element_number),
            address_of(element_start),
            address_of(element_length),
        ),
        element_kind.size,
        address_of(state) + 8,
    )
    for document in range(state[0], starts.size):
        state[0] = document
        first, end = starts[document], ends[document]
        cell = rows[document] * fields
        if not (0 <= first <= end <= text.size and 0 <= cell <= kind.size - fields):
            return _BROKEN
        cells = cell_of(columns, cell)
        used = state[1]
        forget(tree.nodes, len(nodes), cells.kind)
        verdict = walk(source.base + first, source.base + end, document, source, tree, cells, room)
        if verdict < 0:
            state[1] = used
            forget(tree.nodes, len(nodes), cells.kind)
            if verdict == FULL:
                seen[:] = -1
                return FULL
            odd[document] = True
    return 0

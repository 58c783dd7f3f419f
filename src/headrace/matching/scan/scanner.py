"""JSON documents -> cells, in one walk over the bytes of each.

A document is `odd` when the walk isn't certain to read it as the filters' reference does: it is malformed or
may be; a key beside wanted ones has an escape; a wanted key stands twice; a wanted number is beyond 64 bits or
beyond what `numbers` can round; it is deeper than the reference surely takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from headrace.matching.machine import WIDTH, Address, address_of, addresses, kernel
from headrace.matching.scan.buffers import (
    FULL,
    Columns,
    Room,
    ScanPointers,
    State,
    Text,
    Tree,
    cell_of,
    forget,
)
from headrace.matching.scan.escapes import unescape
from headrace.matching.scan.walk import walk

if TYPE_CHECKING:
    from headrace.matching.extraction.cells import Cells
    from headrace.matching.scan.trie import PathTrie

_BROKEN = -3
_NOTHING = np.empty(0, np.uint8)

_T = TypeVar("_T", bound=np.generic)


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
    seen = np.full(len(trie.nodes), -1, np.int64)
    elements, fields = cells.elements, cells.kind.shape[1]
    taken: tuple[npt.NDArray[Any], ...] = (
        _whole(text, np.uint8),
        *(_whole(array, np.int64) for array in (starts, ends, rows)),
        *(trie.nodes, trie.slots, trie.keys),
        *(cells.kind, cells.number, cells.start, cells.length),
    )
    state = np.zeros((), State.dtype)
    state["documents"], state["text_size"], state["fields"] = len(starts), len(text), fields
    state["nodes"], state["last_slot"], state["cells"] = len(trie.nodes), len(trie.slots) - 1, cells.kind.size
    state["used"] = elements.used
    while True:
        state["capacity"] = elements.capacity
        room = elements.kind, elements.number, elements.start, elements.length
        arrays = addresses(ScanPointers, (*taken, *room, seen, odd))
        verdict = _scan_all(address_of(arrays), address_of(state))
        elements.used = int(state["used"])
        if verdict != FULL:
            break
        elements.grow()
        seen[:] = -1
    if verdict == _BROKEN:
        raise IndexError(f"document {state['document']} or its row lies outside of the text or the cells")
    return odd, unescape(taken[0], cells) if state["escapes"] else _NOTHING


def _whole(array: npt.NDArray[Any], kind: type[_T]) -> npt.NDArray[_T]:
    return np.ascontiguousarray(array, kind)


@kernel
def _scan_all(arrays: Address, sizes: Address) -> int:
    """Scan from the document in the state on, to the last one or to the one that finds no room for elements."""
    a, state = ScanPointers(arrays), State(sizes)
    text = Text(a.text, a.text + state.text_size - WIDTH, state)
    tree = Tree(a.nodes, a.slots, state.last_slot, a.keys, a.seen)
    columns = Columns(a.kind, a.number, a.start, a.length)
    room = Room(Columns(a.element_kind, a.element_number, a.element_start, a.element_length), state)
    for document in range(state.document, state.documents):
        state.document = document
        first, end = a.starts[document], a.ends[document]
        cell = a.rows[document] * state.fields
        if not (0 <= first <= end <= state.text_size and 0 <= cell <= state.cells - state.fields):
            return _BROKEN
        cells = cell_of(columns, cell)
        used = state.used
        forget(tree.nodes, state.nodes, cells.kind)
        verdict = walk(text.base + first, text.base + end, document, text, tree, cells, room)
        if verdict < 0:
            state.used = used
            forget(tree.nodes, state.nodes, cells.kind)
            if verdict == FULL:
                return FULL
            a.odd[document] = True
    return 0

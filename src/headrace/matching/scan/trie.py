"""The paths that somebody wants, as a tree in flat arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from headrace.matching.scan.strings import hash_of_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

# Columns of `nodes`. Children of a node follow one another; a field of -1 is none.
PARENT, FIELD, ELEMENTS, FIRST, COUNT, LEVEL = range(6)
# Columns of `slots`. A child of 0 is none: the root is nobody's child.
HASH, HOLDER, CHILD, START, LENGTH = range(5)

WORDS = 8
"""How many words a row of either takes."""

_PADDING = bytes(8)


@dataclass(frozen=True, slots=True)
class PathTrie:
    """The wanted paths below `data`, as flat arrays a kernel can walk.

    `nodes` has a row per step, the root first; `slots` is a hash table, half empty at least, that leads from a
    node and a key to a child; `keys` holds the keys' bytes, each followed by eight zeros or more.
    """

    nodes: npt.NDArray[np.int64]
    slots: npt.NDArray[np.int64]
    keys: npt.NDArray[np.uint8]
    width: int
    """How many columns the cells must have at least."""

    @classmethod
    def of(cls, wanted: Mapping[tuple[str, ...], tuple[int, bool]]) -> PathTrie:
        """Make the tree from path -> (column in the cells, whether elements or keys there are wanted)."""
        paths = _in_levels(wanted)
        number = {path: node for node, path in enumerate(paths)}
        nodes = np.zeros((len(paths), WORDS), np.int64)
        nodes[:, FIELD] = -1
        nodes[0, PARENT] = -1
        for path, (field, elements) in wanted.items():
            nodes[number[path], FIELD] = field
            nodes[number[path], ELEMENTS] = elements
        for path, node in number.items():
            nodes[node, LEVEL] = len(path)
            if path:
                parent = number[path[:-1]]
                nodes[node, PARENT] = parent
                nodes[parent, FIRST] = nodes[parent, FIRST] or node
                nodes[parent, COUNT] += 1
        slots, keys = _table(paths, number)
        for array in (nodes, slots):
            array.flags.writeable = False
        return cls(nodes, slots, keys, 1 + int(nodes[:, FIELD].max()))


def _in_levels(wanted: Mapping[tuple[str, ...], tuple[int, bool]]) -> list[tuple[str, ...]]:
    """Return the paths and what leads to them, short ones first, children of one parent together."""
    prefixes = {path[:length] for path in wanted for length in range(len(path) + 1)} | {()}
    return sorted(prefixes, key=lambda path: (len(path), path))


def _table(
    paths: list[tuple[str, ...]], number: Mapping[tuple[str, ...], int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    size = 1 << (2 * len(paths)).bit_length()
    slots = np.zeros((size, WORDS), np.int64)
    text = bytearray()
    for node, path in enumerate(paths[1:], start=1):
        holder = number[path[:-1]]
        key = path[-1].encode(errors="surrogatepass")
        hashed = hash_of_bytes(key, holder)
        offset = hashed & (size - 1)
        while slots[offset, CHILD]:
            offset = (offset + 1) & (size - 1)
        slots[offset, : LENGTH + 1] = hashed, holder, node, len(text), len(key)
        text += key + _PADDING
    return slots, np.frombuffer(bytes(text or _PADDING), np.uint8)

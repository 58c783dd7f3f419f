"""The paths that somebody wants, as a tree in flat arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from headrace.matching.machine import Long, Record
from headrace.matching.scan.strings import hash_of_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping


class Node(Record, size=64):
    """A step of a path. Children of a node follow one another; a field of -1 is none."""

    parent: Long
    field: Long
    elements: Long
    first: Long
    count: Long
    level: Long


class Slot(Record, size=64):
    """A place of the hash table of keys. A child of 0 is none: the root is nobody's child."""

    hash: Long
    holder: Long
    child: Long
    start: Long
    length: Long


_PADDING = bytes(8)


@dataclass(frozen=True, slots=True)
class PathTrie:
    """The wanted paths below `data`, as flat arrays a kernel can walk.

    `nodes` has a `Node` per step, the root first; `slots` is a hash table, half empty at least, that leads from a
    node and a key to a child; `keys` holds the keys' bytes, each followed by eight zeros or more.
    """

    nodes: npt.NDArray[Any]
    slots: npt.NDArray[Any]
    keys: npt.NDArray[np.uint8]
    width: int
    """How many columns the cells must have at least."""

    @classmethod
    def of(cls, wanted: Mapping[tuple[str, ...], tuple[int, bool]]) -> PathTrie:
        """Make the tree from path -> (column in the cells, whether elements or keys there are wanted)."""
        paths = _in_levels(wanted)
        number = {path: node for node, path in enumerate(paths)}
        nodes = np.zeros(len(paths), Node.dtype)
        nodes["field"] = -1
        nodes["parent"][0] = -1
        for path, (field, elements) in wanted.items():
            nodes["field"][number[path]] = field
            nodes["elements"][number[path]] = elements
        for path, node in number.items():
            nodes["level"][node] = len(path)
            if path:
                parent = number[path[:-1]]
                nodes["parent"][node] = parent
                nodes["first"][parent] = nodes["first"][parent] or node
                nodes["count"][parent] += 1
        slots, keys = _table(paths, number)
        for array in (nodes, slots):
            array.flags.writeable = False
        return cls(nodes, slots, keys, 1 + int(nodes["field"].max()))


def _in_levels(wanted: Mapping[tuple[str, ...], tuple[int, bool]]) -> list[tuple[str, ...]]:
    """Return the paths and what leads to them, short ones first, children of one parent together."""
    prefixes = {path[:length] for path in wanted for length in range(len(path) + 1)} | {()}
    return sorted(prefixes, key=lambda path: (len(path), path))


def _table(
    paths: list[tuple[str, ...]], number: Mapping[tuple[str, ...], int]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.uint8]]:
    size = 1 << (2 * len(paths)).bit_length()
    slots = np.zeros(size, Slot.dtype)
    text = bytearray()
    for node, path in enumerate(paths[1:], start=1):
        holder = number[path[:-1]]
        key = path[-1].encode(errors="surrogatepass")
        hashed = hash_of_bytes(key, holder)
        offset = hashed & (size - 1)
        while slots["child"][offset]:
            offset = (offset + 1) & (size - 1)
        found = hashed, holder, node, len(text), len(key)
        for name, value in zip(("hash", "holder", "child", "start", "length"), found, strict=True):
            slots[name][offset] = value
        text += key + _PADDING
    return slots, np.frombuffer(bytes(text or _PADDING), np.uint8)

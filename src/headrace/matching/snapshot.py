"""An index in a file: written once, mapped by any number of processes, refused if it isn't whole.

The file is a line that names the format, its version, and the length and checksum of a header in JSON; the header;
and then the arrays that it lists with their checksum, each at a multiple of 64 bytes. Trees (filters, rests)
are pickled one by one and read only where they are asked for; nothing but filters can be unpickled.
"""

from __future__ import annotations

import mmap
import pickle
import re
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from headrace.errors import SnapshotRefused
from headrace.filters.compiled import load_tree
from headrace.filters.filter import Filter
from headrace.matching.index.level import Legend, Level
from headrace.matching.index.state import Index, Layer, View
from headrace.matching.index.tables import Tables
from headrace.matching.levels import catalogue_of, level_of
from headrace.matching.rules.arrays import Growing
from headrace.matching.rules.catalogue import Catalogue
from headrace.matching.rules.checks import Pattern
from headrace.matching.rules.members import FOREVER, Members
from headrace.matching.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

    from headrace.matching.rules.members import Entry
    from headrace.matching.settings import BloomSettings

    Numbers = npt.NDArray[Any]

_VERSION = 3
_MAGIC = "headrace index"
_FIRST_LINE = re.compile(rb"headrace index (\d{1,4}) (\d{10}) ([0-9a-f]{8})\n")
_ALIGNED = 64
_KEPT = 10_000


class _Array(msgspec.Struct, array_like=True):
    name: str
    kind: str
    shape: tuple[int, ...]
    start: int


class _Header(msgspec.Struct):
    seed: int
    arrays: list[_Array]
    size: int
    checksum: int


def write_snapshot(path: Path, index: Index) -> None:
    """Write a index's members, numbered anew, and one level over them. The index must not change meanwhile."""
    numbers = index.members.alive(0, len(index.members)).tolist()
    entries = [index.members.entry(number) for number in numbers]
    catalogue, order = index.catalogue, numbers
    if any(layer.is_mapped for layer in index.view.layers):
        catalogue, order = catalogue_of(entries), list(range(len(numbers)))
    level = level_of(catalogue, order, index.seed, index.bloom, np.arange(len(numbers)))
    ids = [index.members.ids[number].encode() for number in numbers]
    created, deleted = index.members.bounds(np.array(numbers, np.int64))
    arrays = {
        **level.tables._asdict(),
        **_trees("legend", [_parts(level.legend)]),
        **_trees("rest", level.rests),
        **_trees("entry", [_plain(each) for each in entries]),
        **_bytes("name", ids),
        "created": created,
        "deleted": deleted,
    }
    _write(path, index.seed, arrays)


def _parts(legend: Legend) -> tuple[object, ...]:
    patterns = [(slot, pattern.text, pattern.longest, list_) for slot, pattern, list_ in legend.patterns]
    return legend.channels, legend.operands, patterns


def _plain(entry: Entry) -> tuple[object, ...]:
    """Return the tree and where it applies; the positions are in arrays of their own."""
    filter_, scope = entry
    where = None if scope is None else (scope.namespace, scope.channel, scope.source, scope.types)
    return filter_.expression, where


def _trees(name: str, values: Sequence[object]) -> dict[str, Numbers]:
    return _bytes(name, [pickle.dumps(value, pickle.HIGHEST_PROTOCOL) for value in values])


def _bytes(name: str, values: Sequence[bytes]) -> dict[str, Numbers]:
    ends = np.cumsum([0, *map(len, values)]).astype(np.int64)
    return {name: np.frombuffer(b"".join(values), np.uint8), f"{name}_ends": ends}


def _write(path: Path, seed: int, arrays: Mapping[str, Numbers]) -> None:
    listed, size, checksum = [], 0, 0
    whole = [np.ascontiguousarray(array) for array in arrays.values()]
    for name, array in zip(arrays, whole, strict=True):
        listed.append(_Array(name, array.dtype.str, array.shape, size))
        size += _padded(array.nbytes)
        checksum = zlib.crc32(bytes(_padded(array.nbytes) - array.nbytes), zlib.crc32(array.data, checksum))
    header = msgspec.json.encode(_Header(seed, listed, size, checksum))
    first = f"{_MAGIC} {_VERSION} {len(header):010d} {zlib.crc32(header):08x}\n".encode()
    temporary = path.with_name(f"{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write((first + header).ljust(_padded(len(first) + len(header)), b"\0"))
        for array in whole:
            file.write(array.data)
            file.write(bytes(_padded(array.nbytes) - array.nbytes))
    temporary.rename(path)


def _padded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def open_snapshot(path: Path, bloom: BloomSettings) -> Index:
    """Map a snapshot and return the index that it is. Raises `SnapshotRefused` where it can't be used."""
    seed, arrays = _map(path)
    tables = Tables(**{name: arrays[name] for name in Tables._fields})
    channels, operands, patterns = _Trees(arrays, "legend")[0]
    legend = Legend(channels, operands, tuple((s, Pattern(text, most), n) for s, text, most, n in patterns))
    level = Level(tables, legend, _Trees(arrays, "rest"))
    entries, created, deleted = _Trees(arrays, "entry"), arrays["created"], arrays["deleted"]

    def entry(number: int) -> Entry:
        expression, where = entries[number]
        if where is None:
            return Filter(expression), None
        until = int(deleted[number])
        namespace, channel, source, types = where
        deleted_at = None if until == FOREVER else until
        scope = Scope(namespace, channel, source, types, int(created[number]), deleted_at)
        return Filter(expression), scope

    members = Members(
        Growing.of(arrays["name"]),
        Growing.of(arrays["name_ends"].astype(np.int32)),
        Growing.of(created),
        Growing.of(deleted),
        entry,
    )
    catalogue = Catalogue()
    catalogue.member_form.extend([-1] * len(created))
    catalogue.flush()
    layer = Layer(level, 0, len(created), is_mapped=True)
    return Index(seed, bloom, catalogue, members, View.of((layer,)))


def _map(path: Path) -> tuple[int, dict[str, Numbers]]:
    """Return the seed and the arrays, once all of the file was found to be as it was written."""
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise SnapshotRefused(path, f"it can't be mapped: {error}") from None
    line = _FIRST_LINE.match(content)
    if line is None:
        raise SnapshotRefused(path, "it is no snapshot of an index")
    if int(line[1]) != _VERSION:
        raise SnapshotRefused(path, f"its version is {int(line[1])}, not {_VERSION}")
    encoded = content[line.end() : line.end() + int(line[2])]
    if zlib.crc32(encoded) != int(line[3], 16):
        raise SnapshotRefused(path, "its header is broken")
    header = msgspec.json.decode(encoded, type=_Header)
    start = _padded(line.end() + len(encoded))
    body = np.frombuffer(content, np.uint8)[start:]
    if len(body) != header.size or zlib.crc32(body.data) != header.checksum:
        raise SnapshotRefused(
            path, f"of {header.size} bytes {len(body)} are there, or not as they were written"
        )
    arrays = {}
    for each in header.arrays:
        kind = np.dtype(each.kind)
        count = int(np.prod(each.shape))
        part = body[each.start : each.start + count * kind.itemsize]
        arrays[each.name] = part.view(kind).reshape(each.shape)
    missing = {*Tables._fields, "legend", "rest", "entry", "name", "created", "deleted"} - arrays.keys()
    if missing:
        raise SnapshotRefused(path, f"it lacks {', '.join(sorted(missing))}")
    return header.seed, arrays


class _Trees(Sequence[Any]):
    """Pickled values, read one by one when they are asked for; the last ones asked for are kept."""

    def __init__(self, arrays: Mapping[str, Numbers], name: str) -> None:
        self._pickled, self._ends = arrays[name], arrays[f"{name}_ends"]
        self._read = lru_cache(_KEPT)(self._load)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, number: Any) -> Any:
        return self._read(int(number))

    def _load(self, number: int) -> Any:
        pickled = self._pickled[self._ends[number] : self._ends[number + 1]].tobytes()
        return load_tree(pickled)

"""The files of the embedded outbox: a header with a checksum, then pairs as an Arrow file.

    header    magic, format version, checksum, first position, position behind the last, length of the body

The name has the positions too, and both have to agree. Files of the first format are Arrow files without a header.
"""

from __future__ import annotations

import errno
import os
import re
import struct
import zlib
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import LogUnavailable
from headrace.eventlog.local.files import read_checked, write_atomically, write_checked
from headrace.eventlog.local.watermark import Watermark
from headrace.eventlog.pairs import ARROW_FILE, decode_pairs, encode_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

COVERED = "COVERED"
"""The watermark below which all positions are planned."""
_SETTLED = "SETTLED"
PUT_BACK = "put the newer log back, or start the service again, which says what can be done"
SUFFIX = ".arrow"
DAMAGED = ".damaged"
FORMAT_VERSION = 2
_NAME = re.compile(rf"([0-9]{{20}})-([0-9]{{20}}){re.escape(SUFFIX)}")
_MAGIC = b"HROUTBOX"
_HEADER = struct.Struct("<8sIIqqQ24x")  # as long as what Arrow aligns its buffers to
_CHECKSUM_AT = 12
_CHECKED_FROM = 16  # the checksum covers everything from here on


class UnreadablePairs(Exception):
    """A file doesn't hold what was written."""


class PlannedRange(NamedTuple):
    """A file of planned deliveries: it covers positions [start, end)."""

    start: int
    end: int
    folder: Path

    @property
    def path(self) -> Path:
        """The file. Computed when asked for: very many are listed, and few are opened."""
        return self.folder / f"{self.start:020d}-{self.end:020d}{SUFFIX}"


def list_ranges(folder: Path) -> list[PlannedRange]:
    """List the files in order of position; none where the folder is gone."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder))
    except FileNotFoundError:
        return []
    found = (match for name in names if (match := _NAME.fullmatch(name)))
    ranges = (PlannedRange(int(match[1]), int(match[2]), folder) for match in found)
    return [each for each in ranges if each.start < each.end]


def uncovered(ranges: Iterable[PlannedRange], begin: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of positions, from `begin` on, that no file covers though a later one follows."""
    for span in ranges:
        if begin < span.start:
            yield begin, span.start
        begin = max(begin, span.end)


def write_pairs(folder: Path, start: int, end: int, pairs: pa.Table) -> None:
    """Write the deliveries of positions [start, end), durably, all or none."""
    write_atomically(PlannedRange(start, end, folder).path, encode_range(start, end, pairs))


def encode_range(start: int, end: int, pairs: pa.Table) -> bytes:
    """Encode a file."""
    body = encode_pairs(pairs, as_file=True)
    header = bytearray(_HEADER.pack(_MAGIC, FORMAT_VERSION, 0, start, end, len(body)))
    struct.pack_into("<I", header, _CHECKSUM_AT, zlib.crc32(body, zlib.crc32(header[_CHECKED_FROM:])))
    return b"".join([header, body])


def read_pairs(span: PlannedRange) -> pa.Table:
    """Read a file into memory. Raise UnreadablePairs with the reason, or FileNotFoundError where it is gone."""
    content = _content(span)
    body = content if content.startswith(ARROW_FILE) else _body(content, span)
    try:
        pairs = decode_pairs(body)
        pairs.validate(full=body is content)  # otherwise the checksum has shown it
    except (pa.ArrowException, OSError) as error:
        raise UnreadablePairs(f"its Arrow data can't be read: {error}") from error
    if pairs.num_rows and not _lies_within(pairs["position"], span):
        raise UnreadablePairs(f"it has deliveries of positions outside {span.start} to {span.end - 1}")
    return pairs


def pairs_between(pairs: pa.Table, start: int, end: int) -> pa.Table:
    """Return the pairs of positions [start, end)."""
    positions = pairs["position"]
    return pairs.filter(pc.and_(pc.greater_equal(positions, start), pc.less(positions, end)))


def end_of(ranges: Iterable[PlannedRange]) -> int:
    """Return the position behind all of these files."""
    return max((span.end for span in ranges), default=0)


def end_of_outbox(folder: Path) -> int:
    """Return the position behind every one that was ever planned, as far as files and watermark tell."""
    if not folder.is_dir():
        return 0
    try:
        with closing(Watermark(folder / COVERED)) as watermark:
            covered = watermark.get() or 0
    except (FileNotFoundError, LogUnavailable):
        covered = 0
    return max(covered, read_settled(folder) or 0, end_of(list_ranges(folder)))


def read_settled(folder: Path) -> int | None:
    """Return the position from which on files are needed, if it is known."""
    content = read_checked(folder / _SETTLED)
    return None if content is None else msgspec.json.decode(content, type=int)


def write_settled(folder: Path, position: int) -> None:
    """Store the position from which on files are needed."""
    write_checked(folder / _SETTLED, msgspec.json.encode(position))


def _content(span: PlannedRange) -> bytes:
    try:
        return span.path.read_bytes()
    except OSError as error:
        if error.errno == errno.EIO:
            raise UnreadablePairs("the disk can't read it") from error
        raise


def _body(content: bytes, span: PlannedRange) -> memoryview:
    if len(content) < _HEADER.size or not content.startswith(_MAGIC):
        raise UnreadablePairs(f"its {len(content)} bytes don't begin like a file of planned deliveries")
    _, version, checksum, start, end, length = _HEADER.unpack_from(content)
    if checksum != zlib.crc32(memoryview(content)[_CHECKED_FROM:]):
        raise UnreadablePairs("its checksum is wrong")
    if version != FORMAT_VERSION:
        raise UnreadablePairs(f"it has format version {version}, this program reads version {FORMAT_VERSION}")
    if (start, end, length) != (span.start, span.end, len(content) - _HEADER.size):
        raise UnreadablePairs(f"its header says that it covers positions {start} to {end - 1}")
    return memoryview(content)[_HEADER.size :]


def _lies_within(positions: pa.ChunkedArray, span: PlannedRange) -> bool:
    extremes = pc.min_max(positions)
    first, last = extremes["min"].as_py(), extremes["max"].as_py()
    return first is not None and span.start <= first and last < span.end

"""The format of a segment: a header, then frames, each one group commit of events.

    segment   magic, format version, checksum, position of the first event, salt
    frame     magic, header checksum, salt, body length, first position, rows, body checksum;
              then one Arrow record batch

Everything starts at a multiple of eight, so that a mapped segment is read as Arrow memory without a copy.
The salt is random per segment: an event whose data imitates a frame is never taken for one.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mmap import mmap

FORMAT_VERSION = 1
FRAME_MAGIC = b"HRF\x01"
_SEGMENT_MAGIC = b"HEADRACE"
_SEGMENT = struct.Struct("<8sIIqQ")
_SEGMENT_CHECKED = struct.Struct("<IqQ")
_FRAME = struct.Struct("<4sIQQqII")
_FRAME_CHECKED_FROM = 8  # the header checksum covers everything from here on

SEGMENT_HEADER = _SEGMENT.size
FRAME_HEADER = _FRAME.size


class SegmentHead(NamedTuple):
    """A segment's header."""

    first: int
    salt: int


class Frame(NamedTuple):
    """A frame's header: where its events begin and how many bytes they take."""

    length: int
    first: int
    rows: int
    checksum: int


def pack_segment_head(head: SegmentHead) -> bytes:
    """Encode a segment's header."""
    checksum = zlib.crc32(_SEGMENT_CHECKED.pack(FORMAT_VERSION, *head))
    return _SEGMENT.pack(_SEGMENT_MAGIC, FORMAT_VERSION, checksum, *head)


def unpack_segment_head(header: bytes) -> SegmentHead | str:
    """Decode a segment's header, or return what is wrong with it."""
    if len(header) < SEGMENT_HEADER:
        return "the segment header is cut off"
    magic, version, checksum, first, salt = _SEGMENT.unpack_from(header)
    if magic != _SEGMENT_MAGIC:
        return "this is not a Headrace segment"
    if version != FORMAT_VERSION:
        return f"it has format version {version}, this program reads version {FORMAT_VERSION}"
    if checksum != zlib.crc32(_SEGMENT_CHECKED.pack(version, first, salt)):
        return "the segment header's checksum is wrong"
    return SegmentHead(first, salt)


def pack_frame(body: bytes | memoryview, first: int, rows: int, salt: int) -> bytes:
    """Encode the header of a frame with this body."""
    packed = bytearray(_FRAME.pack(FRAME_MAGIC, 0, salt, len(body), first, rows, zlib.crc32(body)))
    struct.pack_into("<I", packed, 4, zlib.crc32(packed[_FRAME_CHECKED_FROM:]))
    return bytes(packed)


def unpack_frame(header: bytes | memoryview, salt: int) -> Frame | None:
    """Decode a frame's header, or return None where there is no whole header of this segment."""
    if len(header) < FRAME_HEADER:
        return None
    magic, own, its_salt, length, first, rows, checksum = _FRAME.unpack_from(header)
    if (
        magic != FRAME_MAGIC
        or its_salt != salt
        or own != zlib.crc32(header[_FRAME_CHECKED_FROM:FRAME_HEADER])
    ):
        return None
    return Frame(length, first, rows, checksum)


def body_is_whole(body: bytes | memoryview, frame: Frame) -> bool:
    """Tell whether these are the bytes that were written."""
    return len(body) == frame.length and zlib.crc32(body) == frame.checksum


def find_frame(
    mapped: mmap | memoryview | bytes, offset: int, salt: int, position: int
) -> tuple[int, Frame] | None:
    """Return the next whole frame at or behind an offset that holds no event before `position`.

    An event may contain a copy of a frame, but only of an earlier one: no later one existed when it was sent.
    """
    content = bytes(mapped[offset:])
    at = content.find(FRAME_MAGIC)
    while at != -1:
        frame = unpack_frame(content[at : at + FRAME_HEADER], salt)
        body = at + FRAME_HEADER
        if frame and frame.first >= position and body_is_whole(content[body : body + frame.length], frame):
            return offset + at, frame
        at = content.find(FRAME_MAGIC, at + 1)
    return None

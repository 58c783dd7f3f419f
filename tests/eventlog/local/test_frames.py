import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.eventlog.local.frames import (
    FRAME_HEADER,
    SEGMENT_HEADER,
    Frame,
    SegmentHead,
    body_is_whole,
    pack_frame,
    pack_segment_head,
    unpack_frame,
    unpack_segment_head,
)

POSITIONS = st.integers(0, 2**62)
SALTS = st.integers(0, 2**64 - 1)


def test_everything_begins_at_a_multiple_of_eight():
    assert SEGMENT_HEADER % 8 == FRAME_HEADER % 8 == 0


@given(POSITIONS, SALTS)
def test_a_segment_header_there_and_back(first, salt):
    packed = pack_segment_head(SegmentHead(first, salt))
    assert len(packed) == SEGMENT_HEADER
    assert unpack_segment_head(packed) == SegmentHead(first, salt)
    assert unpack_segment_head(packed + b"more") == SegmentHead(first, salt)


@given(POSITIONS, SALTS, st.integers(0, SEGMENT_HEADER * 8 - 1))
def test_a_segment_header_with_a_flipped_bit_is_none(first, salt, bit):
    packed = bytearray(pack_segment_head(SegmentHead(first, salt)))
    packed[bit // 8] ^= 1 << bit % 8
    assert isinstance(unpack_segment_head(bytes(packed)), str)


@given(st.binary(max_size=50), POSITIONS, st.integers(0, 2**32 - 1), SALTS)
def test_a_frame_there_and_back(body, first, rows, salt):
    packed = pack_frame(body, first, rows, salt)
    assert len(packed) == FRAME_HEADER
    frame = unpack_frame(packed + body, salt)
    assert frame is not None
    assert (frame.length, frame.first, frame.rows) == (len(body), first, rows)
    assert body_is_whole(body, frame)
    assert unpack_frame(packed, salt ^ 1) is None


@given(st.binary(min_size=1, max_size=50), POSITIONS, SALTS, st.data())
def test_a_frame_with_a_flipped_bit_is_none(body, first, salt, data):
    packed = bytearray(pack_frame(body, first, 1, salt) + body)
    bit = data.draw(st.integers(0, len(packed) * 8 - 1))
    packed[bit // 8] ^= 1 << bit % 8
    frame = unpack_frame(bytes(packed[:FRAME_HEADER]), salt)
    assert frame is None or not body_is_whole(bytes(packed[FRAME_HEADER:]), frame)


@pytest.mark.parametrize("size", [0, 1, FRAME_HEADER - 1])
def test_a_short_header_is_none(size):
    assert unpack_frame(pack_frame(b"", 0, 0, 0)[:size], 0) is None


def test_a_short_body_is_not_whole():
    assert not body_is_whole(b"", Frame(length=1, first=0, rows=1, checksum=0))


def test_the_format_is_fixed():
    """Old files have to stay readable: these bytes never change for version 1."""
    assert pack_segment_head(SegmentHead(7, 9)).hex() == (
        "4845414452414345010000009543048807000000000000000900000000000000"
    )
    assert pack_frame(b"body", 7, 2, 9).hex() == (
        "485246014951ef1109000000000000000400000000000000070000000000000002000000b20ba8db"
    )

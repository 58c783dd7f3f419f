import os
import time
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.eventlog.arrivals import HUGE, arrivals, build, ids, memory_folder

from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.segments import list_segments
from headrace.eventlog.retention import expire_segments
from headrace.eventlog.settings import LogSettings
from headrace.events.positions import LogPosition

NOW = 1_000_000.0
SEGMENTS = 5  # of two events each, in the fixture


def settings(seconds: float = HUGE, size: int = HUGE) -> LogSettings:
    return LogSettings(
        kind="local", segment_bytes=1, max_pending_bytes=1, retention_seconds=seconds, retention_bytes=size
    )


@dataclass(frozen=True)
class Files:
    firsts: list[int]
    sizes: list[int]


def files(folder):
    segments = list_segments(folder)
    return Files(
        [segment.first for segment in segments], [segment.path.stat().st_size for segment in segments]
    )


@pytest.fixture
def log(tmp_path):
    """Segments at positions 0, 2, 4, 6 and 8; the first was written 50 s ago, the next 40 s, and so on."""
    build(tmp_path, ["ab", "cd", "ef", "gh", "ij"], segment_bytes=1)
    for segment, age in zip(list_segments(tmp_path), (50, 40, 30, 20, 10), strict=True):
        os.utime(segment.path, (NOW - age, NOW - age))
    return tmp_path


@pytest.mark.parametrize(
    ("settled", "left"),
    [(0, [0, 2, 4, 6, 8]), (1, [0, 2, 4, 6, 8]), (2, [2, 4, 6, 8]), (3, [2, 4, 6, 8]), (7, [6, 8]), (8, [8])],
)
def test_nothing_that_is_not_settled_is_removed(log, settled, left):
    before = files(log)
    freed = expire_segments(log, LogPosition.at(settled), settings(seconds=0, size=0), NOW)
    assert files(log).firsts == left
    assert freed == sum(before.sizes) - sum(files(log).sizes)


@pytest.mark.parametrize("settled", [9, 10, 1000])
def test_the_last_segment_stays(log, settled, open_log):
    expire_segments(log, LogPosition.at(settled), settings(seconds=0, size=0), NOW)
    assert files(log).firsts == [8]
    assert SegmentReader(log).start() == LogPosition.at(8)
    assert open_log(log).append(arrivals("k")) == 10
    assert ids(log, 8) == ["i", "j", "k"]


@pytest.mark.parametrize(
    ("seconds", "left"),
    [(60, [0, 2, 4, 6, 8]), (50, [0, 2, 4, 6, 8]), (45, [2, 4, 6, 8]), (25, [6, 8]), (0, [8])],
)
def test_age(log, seconds, left):
    expire_segments(log, LogPosition.at(10), settings(seconds=seconds), NOW)
    assert files(log).firsts == left


@pytest.mark.parametrize("kept", range(SEGMENTS + 1))
def test_size(log, kept):
    """The oldest go until the rest fits, and not one more."""
    sizes = files(log).sizes
    limit = sum(sizes[SEGMENTS - kept :])
    expire_segments(log, LogPosition.at(10), settings(size=limit), NOW)
    assert files(log).sizes == sizes[SEGMENTS - max(kept, 1) :]
    assert expire_segments(log, LogPosition.at(10), settings(size=limit), NOW) == 0


def test_a_byte_too_many(log):
    sizes = files(log).sizes
    expire_segments(log, LogPosition.at(10), settings(size=sum(sizes) - 1), NOW)
    assert files(log).firsts == [2, 4, 6, 8]


def test_the_clock_is_the_systems_unless_told(log):
    assert expire_segments(log, LogPosition.at(10), settings(seconds=time.time() - NOW + 1000)) == 0
    assert expire_segments(log, LogPosition.at(10), settings(seconds=time.time() - NOW)) > 0


def test_an_empty_folder(tmp_path):
    assert expire_segments(tmp_path, LogPosition(), settings(seconds=0, size=0)) == 0


@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=6),
    st.integers(0, 20),
    st.floats(0, 100),
    st.integers(0, 20_000),
)
def test_what_is_left_is_one_whole_piece(commits, settled, seconds, size):
    """A log after retention opens, begins with a segment of its own, and has everything from there on."""
    with memory_folder() as folder:
        total = sum(commits)
        build(
            folder,
            ([f"{commit}" for _ in range(rows)] for commit, rows in enumerate(commits)),
            segment_bytes=1,
        )
        for index, segment in enumerate(list_segments(folder)):
            os.utime(segment.path, (NOW - 90 + 20 * index, NOW - 90 + 20 * index))
        expire_segments(folder, LogPosition.at(settled), settings(seconds, size), NOW)
        start = SegmentReader(folder).start()[0]
        assert start <= max(settled, 0)
        assert len(ids(folder, start)) == total - start
        assert start in [sum(commits[:index]) for index in range(len(commits))]

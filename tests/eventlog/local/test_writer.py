import errno
import os
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from tests.eventlog.arrivals import HUGE, arrivals, ids, python, snapshot

from headrace.errors import LogLocked, LogUnavailable
from headrace.eventlog.local import files
from headrace.eventlog.local.frames import FRAME_HEADER
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.segments import list_segments
from headrace.eventlog.local.writer import SegmentWriter
from headrace.events.positions import LogPosition

HOLD = """
import sys
from pathlib import Path
from headrace.errors import LogLocked
from headrace.eventlog.local.writer import SegmentWriter
try:
    writer = SegmentWriter(Path(sys.argv[1]), 1 << 20)
except LogLocked as error:
    print(error)
else:
    print("held", flush=True)
    sys.stdin.read()
"""


def broken(*_, **__):
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_positions_go_on_over_segments_and_openings(tmp_path):
    end = 0
    for _ in range(4):
        with closing(SegmentWriter(tmp_path, 6000)) as log:
            for size in (1, 3, 2):
                assert log.end == end
                assert log.append(arrivals(range(end, end + size))) == end
                end += size
    assert ids(tmp_path) == [str(number) for number in range(end)]
    firsts = [segment.first for segment in list_segments(tmp_path)]
    assert len(firsts) > 3
    assert firsts == sorted(set(firsts))


def test_a_segment_ends_once_it_has_its_size(tmp_path, open_log):
    log = open_log(tmp_path, 10_000)
    for number in range(30):
        log.append(arrivals([number]))
    *sealed, last = [segment.path.stat().st_size for segment in list_segments(tmp_path)]
    assert sealed
    assert all(10_000 <= size < 10_000 + 4000 for size in sealed)
    assert last < 10_000 + 4000


def test_readers_are_told_only_after_the_sync(tmp_path, open_log, monkeypatch):
    log = open_log(tmp_path, 1)
    reader = SegmentReader(tmp_path)
    ends = []
    sync = os.fdatasync

    def record(descriptor):
        ends.append(reader.end()[0])
        sync(descriptor)
        ends.append(reader.end()[0])

    monkeypatch.setattr(os, "fdatasync", record)
    for names in ("ab", "c"):
        log.append(arrivals(names))
    assert ends == [0, 0, 2, 2]
    assert reader.end() == LogPosition.at(3)


# One writer


def test_a_second_writer_in_this_process_is_refused(tmp_path, open_log):
    log = open_log(tmp_path)
    log.append(arrivals("a"))
    before = snapshot(tmp_path)
    with pytest.raises(LogLocked, match=f"process {os.getpid()}"):
        SegmentWriter(tmp_path, HUGE)
    assert snapshot(tmp_path) == before
    assert log.append(arrivals("b")) == 1
    log.close()
    assert open_log(tmp_path).end == 2


def test_a_second_writer_in_another_process_is_refused(tmp_path, open_log):
    open_log(tmp_path)
    out, _ = python(HOLD, tmp_path).communicate("", timeout=60)
    assert f"{tmp_path} is written by another process (process {os.getpid()})" in out


def test_the_lock_is_gone_when_its_holder_is_killed(tmp_path, open_log):
    holder = python(HOLD, tmp_path)
    with holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LogLocked, match=f"process {holder.pid}"):
            SegmentWriter(tmp_path, HUGE)
        holder.kill()
        holder.wait()
    assert open_log(tmp_path).append(arrivals("a")) == 0


def test_leftovers_of_a_crash_are_removed(tmp_path, open_log):
    open_log(tmp_path).close()
    (tmp_path / "00000000000000000007.seg.tmp").write_bytes(b"half")
    open_log(tmp_path)
    assert not list(tmp_path.glob("*.tmp"))


# Failing system calls


@pytest.mark.parametrize("written", [0, 1, FRAME_HEADER, FRAME_HEADER + 100], ids=str)
def test_a_write_that_fails_part_way_leaves_nothing(tmp_path, open_log, monkeypatch, written):
    log = open_log(tmp_path)
    log.append(arrivals("ab"))
    before = snapshot(tmp_path)
    calls = count()

    def partly(descriptor, parts, offset):
        if next(calls) or not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.pwrite(descriptor, b"".join(parts)[:written], offset)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwritev", partly)
        with pytest.raises(LogUnavailable, match="No space left"):
            log.append(arrivals("x"))
    assert snapshot(tmp_path) == before
    assert log.append(arrivals("c")) == 2
    assert ids(tmp_path) == ["a", "b", "c"]


def test_short_writes_are_continued(tmp_path, open_log, monkeypatch):
    log = open_log(tmp_path)

    def little(descriptor, parts, offset):
        return os.pwrite(descriptor, b"".join(parts)[:13], offset)

    monkeypatch.setattr(os, "pwritev", little)
    assert log.append(arrivals("ab")) == 0
    assert log.append(arrivals("c")) == 2
    monkeypatch.undo()
    log.close()
    open_log(tmp_path)
    assert ids(tmp_path) == ["a", "b", "c"]


def test_a_sync_that_fails_leaves_nothing(tmp_path, open_log, monkeypatch):
    log = open_log(tmp_path)
    log.append(arrivals("ab"))
    before = snapshot(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", broken)
        with pytest.raises(LogUnavailable, match="Input/output error"):
            log.append(arrivals("x"))
    assert snapshot(tmp_path) == before
    assert log.append(arrivals("c")) == 2
    log.close()
    assert open_log(tmp_path).end == 3
    assert ids(tmp_path) == ["a", "b", "c"]


@pytest.mark.parametrize("segment_bytes", [HUGE, 5000])
def test_bytes_that_could_not_be_taken_back_are_written_over(tmp_path, open_log, monkeypatch, segment_bytes):
    """They are longer than what comes next, so some of them stay behind it until the segment is sealed."""
    log = open_log(tmp_path, segment_bytes)
    log.append(arrivals("ab"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", broken)
        patch.setattr(os, "ftruncate", broken)
        with pytest.raises(LogUnavailable):
            log.append(arrivals("x", b"x" * 20_000))
    assert ids(tmp_path) == ["a", "b"]
    for position, name in enumerate("cdef", start=2):
        assert log.append(arrivals(name)) == position
    log.close()
    assert open_log(tmp_path, segment_bytes).end == 6
    assert ids(tmp_path) == list("abcdef")


def test_a_segment_is_not_sealed_with_bytes_behind_its_frames(tmp_path, open_log, monkeypatch):
    log = open_log(tmp_path, 5000)
    log.append(arrivals("ab"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", broken)
        with monkeypatch.context() as inner:
            inner.setattr(os, "fdatasync", broken)
            with pytest.raises(LogUnavailable):
                log.append(arrivals("x", b"x" * 20_000))
        log.append(arrivals("cdefghijklmnop"))
        with pytest.raises(LogUnavailable):
            log.append(arrivals("y"))
        assert len(list_segments(tmp_path)) == 1
    assert log.append(arrivals("q")) == 16
    assert len(list_segments(tmp_path)) == 2
    log.close()
    assert open_log(tmp_path, 5000).end == 17
    assert ids(tmp_path) == list("abcdefghijklmnopq")


STEPS_OF_A_ROLL = [(os, "fsync"), (files, "sync_folder"), (Path, "rename"), (Path, "open")]


@pytest.mark.parametrize(
    ("owner", "name"), STEPS_OF_A_ROLL, ids=lambda value: getattr(value, "__name__", value)
)
def test_a_new_segment_that_fails_at_any_step(tmp_path, open_log, monkeypatch, owner, name):
    log = open_log(tmp_path, 1)
    log.append(arrivals("ab"))
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, broken)
            with pytest.raises(LogUnavailable, match="Input/output error"):
                log.append(arrivals("x"))
        assert log.end == 2
        assert ids(tmp_path) == ["a", "b"]
        assert not list(tmp_path.glob("*.tmp"))
    assert log.append(arrivals("c")) == 2
    assert log.append(arrivals("d")) == 3
    log.close()
    assert open_log(tmp_path, 1).end == 4
    assert ids(tmp_path) == list("abcd")


def test_a_crash_right_after_a_failed_roll(tmp_path, open_log, monkeypatch):
    log = open_log(tmp_path, 1)
    log.append(arrivals("ab"))
    with monkeypatch.context() as patch:
        patch.setattr(files, "sync_folder", broken)
        with pytest.raises(LogUnavailable):
            log.append(arrivals("x"))
    log.close()
    assert open_log(tmp_path, 1).append(arrivals("c")) == 2
    assert ids(tmp_path) == ["a", "b", "c"]

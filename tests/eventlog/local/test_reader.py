import os
import re
import shutil
import signal
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.eventlog.arrivals import HUGE, arrival, arrivals, build, ids, logs, memory_folder, python, read

from headrace.errors import LogDamaged, LogError, LogUnavailable
from headrace.eventlog.damage import Damage
from headrace.eventlog.local.frames import FRAME_HEADER
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.segments import list_segments
from headrace.eventlog.local.writer import SegmentWriter
from headrace.events.batch import from_batch
from headrace.events.positions import LogPosition
from headrace.events.recorded import Arrival

REOPEN = object()
steps = st.lists(st.just(REOPEN) | st.lists(st.binary(max_size=40), min_size=1, max_size=4), max_size=12)


@st.composite
def ranges(draw, end):
    start = draw(st.integers(0, end))
    return start, draw(st.integers(start, end))


@settings(max_examples=60)
@given(steps, st.sampled_from([1, 3000, 6000, HUGE]), st.data())
def test_every_range_of_a_growing_log_is_what_was_appended(steps, segment_bytes, data):
    """One reader stays through it all, another comes new each time."""
    with memory_folder() as folder, logs() as open_log:
        writer = open_log(folder, segment_bytes)
        watching = SegmentReader(folder)
        kept: list[Arrival] = []
        for step in steps:
            if step is REOPEN:
                writer.close()
                writer = open_log(folder, segment_bytes)
            else:
                added = [arrival(len(kept) + index, each) for index, each in enumerate(step)]
                assert writer.append(added) == len(kept)
                kept += added
            assert writer.end == watching.end()[0] == len(kept)
            start, end = data.draw(ranges(len(kept)))
            seen = [recorded for batch in watching.read(start, end) for recorded in from_batch(batch)]
            assert [recorded.position for recorded in seen] == list(range(start, end))
            assert [recorded.arrival for recorded in seen] == kept[start:end]
            assert seen == read(folder, start, end)
        assert [recorded.arrival for recorded in read(folder)] == kept


def test_publish_times_do_not_fall_and_are_those_of_the_commit(tmp_path, open_log):
    writer = open_log(tmp_path / "log", 1)
    writer.append(arrivals("ab"))
    writer.append(arrivals("c"))
    times = [recorded.publish_time for recorded in read(tmp_path / "log")]
    assert times[0] == times[1] <= times[2]


def test_an_empty_range_needs_no_log(tmp_path, open_log):
    open_log(tmp_path)
    reader = SegmentReader(tmp_path)
    assert (reader.start(), reader.end()) == (LogPosition(), LogPosition())
    assert list(reader.read(0, 0)) == []


def test_no_position_behind_the_end_is_read(tmp_path, open_log):
    writer = open_log(tmp_path)
    writer.append(arrivals("ab"))
    reader = SegmentReader(tmp_path)
    with pytest.raises(LogError, match="up to 3 were requested, but the log ends at 2"):
        list(reader.read(0, 3))
    writer.append(arrivals("c"))
    assert sum(batch.num_rows for batch in reader.read(0, 3)) == 3


def test_a_frame_behind_the_mark_is_not_looked_at(tmp_path, open_log, monkeypatch):
    """It is in the file already and may never become durable."""
    writer = open_log(tmp_path)
    writer.append(arrivals("ab"))
    seen = []

    def look(descriptor):
        seen.append((SegmentReader(tmp_path).end()[0], ids(tmp_path)))

    monkeypatch.setattr(os, "fdatasync", look)
    writer.append(arrivals("c"))
    assert seen == [(2, ["a", "b"])]
    assert ids(tmp_path) == ["a", "b", "c"]


def test_positions_that_are_no_longer_kept(tmp_path):
    build(tmp_path, ["ab", "cd", "ef"], segment_bytes=1)
    early = SegmentReader(tmp_path)
    late = SegmentReader(tmp_path)
    assert sum(batch.num_rows for batch in early.read(0, 2)) == 2
    assert sum(batch.num_rows for batch in late.read(4, 6)) == 2
    for segment in list_segments(tmp_path)[:2]:
        segment.path.unlink()
    assert SegmentReader(tmp_path).start() == early.start() == LogPosition.at(4)
    for reader, start in ((SegmentReader(tmp_path), 0), (early, 2), (late, 0), (late, 3)):
        with pytest.raises(LogError, match=f"position {start} is no longer kept; the log begins at 4"):
            list(reader.read(start, 6))
        assert sum(batch.num_rows for batch in reader.read(4, 6)) == 2


def test_a_segment_whose_header_is_damaged_under_a_running_log(tmp_path):
    build(tmp_path, ["ab", "cd"], segment_bytes=1)
    path = list_segments(tmp_path)[0].path
    path.write_bytes(b"X" + path.read_bytes()[1:])
    with pytest.raises(LogDamaged) as caught:
        list(SegmentReader(tmp_path).read(0, 4))
    assert (caught.value.path, caught.value.offset) == (str(path), 0)


def test_two_segments_that_changed_places(tmp_path):
    build(tmp_path, ["ab", "cd"], segment_bytes=1)
    first, second = (segment.path for segment in list_segments(tmp_path))
    first.rename(tmp_path / "aside")
    second.rename(first)
    (tmp_path / "aside").rename(second)
    for start in range(4):
        with pytest.raises(LogDamaged, match="begins at position"):
            list(SegmentReader(tmp_path).read(start, start + 1))


def mapped_at(path):
    """The addresses at which this process has mapped the file."""
    with Path("/proc/self/maps").open() as maps:
        lines = [line.split() for line in maps if line.rstrip().endswith(str(path))]
    return [tuple(int(address, 16) for address in line[0].split("-")) for line in lines]


def test_batches_are_views_of_the_mapped_file(tmp_path, open_log):
    writer = open_log(tmp_path)
    writer.append([arrival(index, bytes(100_000)) for index in range(20)])
    reader = SegmentReader(tmp_path)
    list(reader.read(0, 1))
    allocated = pa.total_allocated_bytes()
    batches = list(reader.read(3, 17))
    assert pa.total_allocated_bytes() - allocated < 10_000
    places = mapped_at(list_segments(tmp_path)[0].path)
    for batch in batches:
        for column in batch.columns:
            for buffer in filter(None, column.buffers()):
                assert any(start <= buffer.address <= end - buffer.size for start, end in places)


def test_batches_outlive_their_reader_and_their_file(tmp_path):
    build(tmp_path, ["abc"])
    batches = list(SegmentReader(tmp_path).read(1, 3))
    list_segments(tmp_path)[0].path.unlink()
    assert [recorded.event.id for batch in batches for recorded in from_batch(batch)] == ["b", "c"]


FOLLOW = """
import sys
from pathlib import Path
from headrace.eventlog.local.reader import SegmentReader
from headrace.events.positions import LogPosition
reader = SegmentReader(Path(sys.argv[1]))
print("ready", flush=True)
position = 0
for line in sys.stdin:
    end = int(line)
    assert reader.end() == LogPosition.at(end), (reader.end(), end)
    ids = [id_ for batch in reader.read(position, end) for id_ in batch["id"].to_pylist()]
    position = end
    print(*ids, flush=True)
"""


def test_a_reader_holds_few_segments_however_many_it_went_through(tmp_path, open_log):
    writer = open_log(tmp_path / "log", 1)
    for number in range(30):
        writer.append(arrivals(str(number)))
    reader = SegmentReader(tmp_path / "log")
    assert sum(batch.num_rows for batch in reader.read(0, 30)) == 30
    mapped = [line for line in Path("/proc/self/maps").read_text().splitlines() if str(tmp_path) in line]
    assert 0 < len({line.split()[-1] for line in mapped if not line.endswith("END")}) <= 5
    assert sum(batch.num_rows for batch in reader.read(0, 30)) == 30, "what it let go of is read again"


def test_a_reader_in_another_process_follows(tmp_path, open_log):
    writer = open_log(tmp_path, 5000)
    process = python(FOLLOW, tmp_path)
    with process:
        assert process.stdout.readline() == "ready\n"
        for commit in range(20):
            names = [f"{commit}.{index}" for index in range(1 + commit % 3)]
            writer.append(arrivals(names))
            print(writer.end, file=process.stdin, flush=True)
            assert process.stdout.readline().split() == names
        process.stdin.close()
    assert process.returncode == 0
    assert len(list_segments(tmp_path)) > 3


TAKEN_BACK = """
import os, sys
from pathlib import Path
from headrace.errors import LogUnavailable
from headrace.eventlog.local.frames import FRAME_HEADER
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.writer import SegmentWriter
from headrace.events.batch import to_batch
from tests.eventlog.arrivals import arrival
folder = Path(sys.argv[1])
writer = SegmentWriter(folder, 8000)
writer.append([arrival("a")])
path = next(folder.glob("*.seg"))
size = path.stat().st_size
frame = FRAME_HEADER + to_batch([arrival("b", bytes(8))], 1, 0).serialize().size
reader = SegmentReader(folder)

def fail(descriptor):
    print([batch["id"].to_pylist() for batch in reader.read(0, 1)])
    raise OSError("no")

sync, os.fdatasync = os.fdatasync, fail
try:
    writer.append([arrival("taken back", bytes(1_000_000))])
except LogUnavailable as error:
    print(error)
os.fdatasync = sync
writer.append([arrival("b", bytes(8 - (size + frame) % -8192))])
assert path.stat().st_size == 8192, "the file ends with a page"
for name in "cde":
    writer.append([arrival(name)])
print([batch["id"].to_pylist() for batch in reader.read(0, 5)])
print([batch["id"].to_pylist() for batch in reader.read(4, 5)])
"""


def test_a_reader_that_mapped_what_was_taken_back(tmp_path):
    """It never looks there: behind the file's end a mapping has no memory, and the kernel kills who reads it."""
    process = python(TAKEN_BACK, tmp_path)
    out, _ = process.communicate(timeout=60)
    assert process.returncode != -signal.SIGBUS
    assert process.returncode == 0
    seen, refusal, after, last = out.splitlines()
    assert seen == "[['a']]"
    assert "nothing was stored" in refusal
    assert after == "[['a'], ['b'], ['c'], ['d'], ['e']]"
    assert last == "[['e']]"


def test_closing_is_the_writers_business(tmp_path):
    with closing(SegmentWriter(tmp_path, HUGE)) as writer:
        writer.append(arrivals("a"))
    assert ids(tmp_path) == ["a"]


def _around(folder, start=0, end=None):
    """What a reader finds that goes around damage: the ids, and the ranges that it was told of."""
    told: list[Damage] = []
    reader = SegmentReader(folder)
    batches = reader.read(start, reader.end()[0] if end is None else end, told.append)
    found = [recorded for batch in batches for recorded in from_batch(batch)]
    assert all(damage.problem and damage.path and damage.path.parent == folder for damage in told)
    return {recorded.position: recorded.event.id for recorded in found}, [each[:2] for each in told]


def _spoil(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 0x10
    path.write_bytes(content)


@pytest.mark.parametrize("what", ["header", "body"])
def test_a_damaged_frame_is_gone_around(tmp_path, what):
    build(tmp_path, ["ab", "cde", "f"])
    reader = SegmentReader(tmp_path)
    path = list_segments(tmp_path)[0].path
    places = [match.start() for match in re.finditer(rb"HRF\x01", path.read_bytes())]
    _spoil(path, places[1] + (4 if what == "header" else FRAME_HEADER + 100))
    assert _around(tmp_path) == ({0: "a", 1: "b", 5: "f"}, [(2, 5)])
    assert _around(tmp_path, 3, 4) == ({}, [(3, 4)])
    assert _around(tmp_path, 4) == ({5: "f"}, [(4, 5)])
    assert reader.reach(0, 6, 1) == 2
    assert reader.reach(2, 6, 1) == 5
    assert reader.size(0, 6) <= path.stat().st_size
    with pytest.raises(LogDamaged):
        list(reader.read(0, 6))


def test_a_file_that_an_older_copy_has_replaced_under_a_reader_is_gone_around(tmp_path, open_log):
    """The reader knows frames that the copy doesn't have, and maps it because there are still more."""
    writer = open_log(tmp_path / "log", HUGE)
    writer.append(arrivals("ab"))
    path = list_segments(tmp_path / "log")[0].path
    shutil.copy(path, tmp_path / "older")
    writer.append(arrivals("cde"))
    reader = SegmentReader(tmp_path / "log")
    assert len(list(reader.read(0, 5))) == 2
    writer.append(arrivals("f"))
    (tmp_path / "older").rename(path)
    assert len(list(reader.read(5, 6, lambda _: None))) == 0
    told: list[Damage] = []
    found = [recorded.event.id for batch in reader.read(0, 6, told.append) for recorded in from_batch(batch)]
    assert found == ["a", "b"]
    assert {position for damage in told for position in range(damage.start, damage.end)} == {2, 3, 4, 5}


def test_a_segment_without_its_header_and_a_missing_one_are_gone_around(tmp_path):
    build(tmp_path, ["ab", "c", "def", "g"], segment_bytes=1)
    first, second, third, _ = list_segments(tmp_path)
    _spoil(first.path, 3)
    third.path.unlink()
    assert _around(tmp_path) == ({2: "c", 6: "g"}, [(0, 2), (3, 6)])
    assert second.path.exists()
    assert SegmentReader(tmp_path).reach(0, 7, 1 << 20) == 7


def test_a_damaged_end_is_gone_around_while_the_log_grows(tmp_path, open_log):
    writer = open_log(tmp_path)
    writer.append(arrivals("ab"))
    whole = list_segments(tmp_path)[0].path.stat().st_size
    writer.append(arrivals("cd"))
    _spoil(list_segments(tmp_path)[0].path, whole + 4)
    told: list[Damage] = []
    reader = SegmentReader(tmp_path)
    assert sum(batch.num_rows for batch in reader.read(0, 4, told.append)) == 2
    writer.append(arrivals("e"))
    assert [batch["id"].to_pylist() for batch in reader.read(0, 5, told.append)] == [["a", "b"], ["e"]]
    assert [each[:2] for each in told] == [(2, 4), (2, 4)]


@pytest.mark.parametrize("segment_bytes", [1, 3000, HUGE])
def test_a_range_of_so_many_bytes_ends_between_commits(tmp_path, segment_bytes):
    build(tmp_path, ["abc", "d", "ef", "g"], segment_bytes)
    reader = SegmentReader(tmp_path)
    one = reader.size(3, 4)
    assert reader.reach(0, 7, 1) == 3
    assert reader.reach(1, 7, 1) == 3
    assert reader.reach(3, 7, 2 * one) in (4, 6)
    assert reader.reach(0, 7, HUGE) == 7
    assert reader.reach(0, 5, HUGE) == 5
    assert reader.reach(0, 2, 1) == 2
    assert reader.size(0, 7) >= reader.size(0, 6) >= 3 * one
    ends = [0]
    while ends[-1] < 7:
        ends.append(reader.reach(ends[-1], 7, one))
    assert ends == [0, 3, 4, 6, 7]


def test_a_log_that_is_gone_is_told(tmp_path):
    with pytest.raises(LogUnavailable, match=r"there is no log in .*/none: put it back"):
        SegmentReader(tmp_path / "none")
    with closing(SegmentWriter(tmp_path / "log", 1000)):
        reader = SegmentReader(tmp_path / "log")
        shutil.rmtree(tmp_path / "log")
        with pytest.raises(LogUnavailable, match="put it back"):
            reader.start()


def test_a_log_that_is_taken_away_under_a_reader_is_told(tmp_path, open_log):
    """Readers map segments when they need them, and the end mark stays mapped when its file is gone."""
    writer = open_log(tmp_path / "log", HUGE)
    reader = SegmentReader(tmp_path / "log")
    writer.append(arrivals("ab"))
    (tmp_path / "log").rename(tmp_path / "away")
    assert reader.end() == LogPosition.at(2)
    with pytest.raises(LogUnavailable, match=re.escape(f"no log in {tmp_path / 'log'}")):
        list(reader.read(0, 2))
    (tmp_path / "away").rename(tmp_path / "log")
    assert [each.event.id for batch in reader.read(0, 2) for each in from_batch(batch)] == ["a", "b"]

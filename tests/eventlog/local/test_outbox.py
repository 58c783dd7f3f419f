import os
from contextlib import ExitStack, closing, contextmanager

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.eventlog.arrivals import memory_folder, python, snapshot

from headrace.errors import LogLocked, OutboxGap
from headrace.eventlog.local import outbox as module
from headrace.eventlog.local.outbox import OutboxFiles, OutboxFileWriter
from headrace.events.positions import Cut
from headrace.matching.matcher import PAIRS


def subscribers(position):
    """Who gets the event at a position; some events go to nobody."""
    return [f"s{number}" for number in range(position % 4)]


def pairs(start, end):
    """The plan of a range: the same whoever makes it, in any order of rows."""
    planned = plan(start, end)[::-1]
    columns = {
        "position": [position for position, _ in planned],
        "subscription": [name for _, name in planned],
    }
    return pa.table(columns, schema=PAIRS)


def plan(start, end):
    return [(position, name) for position in range(start, end) for name in subscribers(position)]


def rows(table):
    return list(zip(table["position"].to_pylist(), table["subscription"].to_pylist(), strict=True))


def read(folder, start=0):
    found = [row for _, table in OutboxFiles(folder).read(Cut.at(start)) for row in rows(table)]
    positions = [position for position, _ in found]
    assert positions == sorted(positions)
    return sorted(found)


@contextmanager
def outboxes():
    with ExitStack() as stack:
        yield lambda folder, begin=0: stack.enter_context(closing(OutboxFileWriter(folder, Cut.at(begin))))


@pytest.fixture
def open_outbox():
    with outboxes() as opened:
        yield opened


def test_a_new_outbox_covers_nothing(tmp_path, open_outbox):
    assert open_outbox(tmp_path).covered() == Cut.at(0)
    assert OutboxFiles(tmp_path).covered() == Cut.at(0)
    assert read(tmp_path) == []


def test_what_was_written_is_read_in_order(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    assert writer.write(Cut.at(0), Cut.at(7), pairs(0, 7)) == len(plan(0, 7))
    assert writer.write(Cut.at(7), Cut.at(9), pairs(7, 9)) == len(plan(7, 9))
    assert writer.covered() == OutboxFiles(tmp_path).covered() == Cut.at(9)
    assert [end for end, _ in OutboxFiles(tmp_path).read(Cut())] == [Cut.at(7), Cut.at(9)]
    assert read(tmp_path) == plan(0, 9)


@pytest.mark.parametrize("start", range(13))
def test_reading_from_any_position(tmp_path, open_outbox, start):
    writer = open_outbox(tmp_path)
    for begin, end in ((0, 4), (4, 5), (5, 12)):
        writer.write(Cut.at(begin), Cut.at(end), pairs(begin, end))
    assert read(tmp_path, start) == plan(start, 12)
    ends = [end[0] for end, _ in OutboxFiles(tmp_path).read(Cut.at(start))]
    assert ends == [end for end in (4, 5, 12) if end > start]


def test_a_range_without_deliveries_counts_as_planned(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    assert writer.write(Cut.at(0), Cut.at(1), pairs(0, 1)) == 0
    ((end, table),) = OutboxFiles(tmp_path).read(Cut())
    assert (end, table.num_rows) == (Cut.at(1), 0)
    writer.close()
    assert open_outbox(tmp_path).covered() == Cut.at(1)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_the_plan_as_spark_hands_it_over(tmp_path, open_outbox, kind):
    given_ = pa.table({"position": [1, 2], "subscription": pa.array(["s0", "s0"], kind)})
    assert (
        open_outbox(tmp_path).write(Cut.at(0), Cut.at(3), pa.concat_tables([given_, given_.slice(0, 0)])) == 2
    )
    assert read(tmp_path) == [(1, "s0"), (2, "s0")]


def test_a_covered_range_changes_nothing(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    writer.write(Cut.at(0), Cut.at(6), pairs(0, 6))
    before = snapshot(tmp_path)
    for start, end in ((0, 6), (0, 3), (2, 5), (5, 6), (3, 3), (6, 6)):
        assert writer.write(Cut.at(start), Cut.at(end), pairs(start, end)) == 0
        assert snapshot(tmp_path) == before
    writer.close()
    assert open_outbox(tmp_path).write(Cut.at(0), Cut.at(6), pairs(0, 6)) == 0
    assert snapshot(tmp_path) == before


def test_of_a_partly_covered_range_only_the_rest_is_added(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    writer.write(Cut.at(0), Cut.at(6), pairs(0, 6))
    before = snapshot(tmp_path)
    assert writer.write(Cut.at(2), Cut.at(9), pairs(2, 9)) == len(plan(6, 9))
    after = snapshot(tmp_path)
    assert {name: after[name] for name in before if name != "COVERED"} == {
        name: content for name, content in before.items() if name != "COVERED"
    }
    assert read(tmp_path) == plan(0, 9)


def test_a_gap_is_refused(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    writer.write(Cut.at(0), Cut.at(6), pairs(0, 6))
    before = snapshot(tmp_path)
    with pytest.raises(OutboxGap) as caught:
        writer.write(Cut.at(7), Cut.at(9), pairs(7, 9))
    assert (caught.value.covered, caught.value.start) == (Cut.at(6), Cut.at(7))
    assert snapshot(tmp_path) == before


def test_an_outbox_may_begin_where_the_log_begins(tmp_path, open_outbox):
    writer = open_outbox(tmp_path, 5)
    assert writer.covered() == OutboxFiles(tmp_path).covered() == Cut.at(5)
    writer.write(Cut.at(5), Cut.at(8), pairs(5, 8))
    writer.close()
    assert open_outbox(tmp_path, 5).covered() == Cut.at(8)
    assert read(tmp_path) == plan(5, 8)


def test_the_files_are_the_truth_at_the_next_start(tmp_path, open_outbox):
    """The writer was killed between the file and the mark, or the mark was lost."""
    writer = open_outbox(tmp_path)
    writer.write(Cut.at(0), Cut.at(6), pairs(0, 6))
    old_mark = (tmp_path / "COVERED").read_bytes()
    writer.write(Cut.at(6), Cut.at(9), pairs(6, 9))
    writer.close()
    for mark in (old_mark, bytes(16), b""):
        (tmp_path / "COVERED").write_bytes(mark)
        again = open_outbox(tmp_path)
        assert again.covered() == OutboxFiles(tmp_path).covered() == Cut.at(9)
        assert again.write(Cut.at(6), Cut.at(9), pairs(6, 9)) == 0
        again.close()
        assert read(tmp_path) == plan(0, 9)


def test_without_a_mark_the_files_tell_what_is_covered(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    writer.write(Cut.at(0), Cut.at(6), pairs(0, 6))
    writer.close()
    (tmp_path / "COVERED").unlink()
    assert OutboxFiles(tmp_path).covered() == Cut.at(6)
    assert read(tmp_path) == plan(0, 6)


def test_what_is_not_marked_yet_is_not_read(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    writer.write(Cut.at(0), Cut.at(3), pairs(0, 3))
    old_mark = (tmp_path / "COVERED").read_bytes()
    writer.write(Cut.at(3), Cut.at(6), pairs(3, 6))
    (tmp_path / "COVERED").write_bytes(old_mark)
    assert read(tmp_path) == plan(0, 3)


def test_leftovers_of_a_crash_are_ignored_and_removed(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    writer.write(Cut.at(0), Cut.at(3), pairs(0, 3))
    writer.close()
    (tmp_path / "00000000000000000003-00000000000000000009.arrow.tmp").write_bytes(
        b"ARROW1 and then the power went"
    )
    assert OutboxFiles(tmp_path).covered() == Cut.at(3)
    assert read(tmp_path) == plan(0, 3)
    again = open_outbox(tmp_path)
    assert again.covered() == Cut.at(3)
    assert not list(tmp_path.glob("*.tmp"))
    again.write(Cut.at(3), Cut.at(9), pairs(3, 9))
    assert read(tmp_path) == plan(0, 9)


@pytest.mark.parametrize(
    ("before", "left"),
    [(0, [3, 5, 9]), (2, [3, 5, 9]), (3, [5, 9]), (4, [5, 9]), (5, [9]), (9, [9]), (100, [9])],
)
def test_dropping_keeps_what_is_needed_and_the_newest(tmp_path, open_outbox, before, left):
    writer = open_outbox(tmp_path)
    for start, end in ((0, 3), (3, 5), (5, 9)):
        writer.write(Cut.at(start), Cut.at(end), pairs(start, end))
    files = OutboxFiles(tmp_path)
    held = sum(path.stat().st_size for path in tmp_path.glob("*.arrow"))
    freed = files.drop(Cut.at(before))
    assert freed == held - sum(path.stat().st_size for path in tmp_path.glob("*.arrow"))
    assert [end[0] for end, _ in files.read(Cut())] == left
    assert read(tmp_path, min(before, 9)) == plan(min(before, 9), 9)
    writer.close()
    again = open_outbox(tmp_path)
    assert again.covered() == Cut.at(9)
    again.write(Cut.at(9), Cut.at(12), pairs(9, 12))
    assert read(tmp_path, 9) == plan(9, 12)


def test_pairs_outlive_their_file(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    writer.write(Cut.at(0), Cut.at(3), pairs(0, 3))
    writer.write(Cut.at(3), Cut.at(6), pairs(3, 6))
    files = OutboxFiles(tmp_path)
    tables = [table for _, table in files.read(Cut())]
    files.drop(Cut.at(3))
    assert sorted(row for table in tables for row in rows(table)) == plan(0, 6)


HOLD = """
import sys
from pathlib import Path
from headrace.eventlog.local.outbox import OutboxFileWriter
writer = OutboxFileWriter(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_writer_is_refused(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    with pytest.raises(LogLocked, match=f"process {os.getpid()}"):
        OutboxFileWriter(tmp_path)
    writer.close()
    with python(HOLD, tmp_path) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LogLocked, match=f"process {holder.pid}"):
            OutboxFileWriter(tmp_path)
        holder.kill()
    open_outbox(tmp_path).write(Cut.at(0), Cut.at(3), pairs(0, 3))


@pytest.mark.parametrize("step", ["os.fsync", "headrace.eventlog.local.files.sync_folder"])
def test_a_write_that_fails_and_is_repeated_with_another_end(tmp_path, open_outbox, monkeypatch, step):
    """After a failure routing begins again where the outbox says, and takes more events with it."""
    writer = open_outbox(tmp_path)
    writer.write(Cut.at(0), Cut.at(3), pairs(0, 3))

    def broken(*_):
        raise OSError("no")

    with monkeypatch.context() as patch:
        patch.setattr(step, broken)
        with pytest.raises(OSError, match="no"):
            writer.write(Cut.at(3), Cut.at(6), pairs(3, 6))
    assert read(tmp_path) == plan(0, 3)
    start = writer.covered()[0]
    writer.write(Cut.at(start), Cut.at(9), pairs(start, 9))
    assert read(tmp_path) == plan(0, 9)
    writer.close()
    assert open_outbox(tmp_path).covered() == Cut.at(9)


@settings(max_examples=80)
@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 8), st.sampled_from(["", "reopen", "drop"])), max_size=12
    )
)
def test_any_sequence_of_ranges_gives_each_pair_once(steps):
    """Repeated, overlapping, skipping, with restarts and drops between; the model is the number covered."""
    with memory_folder() as folder, outboxes() as open_outbox:
        writer = open_outbox(folder)
        covered = dropped = 0
        for start, length, then in steps:
            end = start + length
            if start > covered:
                with pytest.raises(OutboxGap):
                    writer.write(Cut.at(start), Cut.at(end), pairs(start, end))
            else:
                assert writer.write(Cut.at(start), Cut.at(end), pairs(start, end)) == len(plan(covered, end))
                covered = max(covered, end)
            if then == "reopen":
                writer.close()
                writer = open_outbox(folder)
            elif then == "drop":
                OutboxFiles(folder).drop(Cut.at(start))
                dropped = max(dropped, start)
            assert writer.covered() == OutboxFiles(folder).covered() == Cut.at(covered)
            floor = min(dropped, covered)
            assert read(folder, floor) == plan(floor, covered)


def test_a_subscription_id_is_stored_once_per_file(tmp_path, open_outbox):
    name = "s" * 5000
    many = pa.table([pa.array(range(1000), pa.int64()), pa.array([name] * 1000)], schema=PAIRS)
    open_outbox(tmp_path).write(Cut.at(0), Cut.at(1000), many)
    (path,) = tmp_path.glob("*.arrow")
    assert path.stat().st_size < 50_000
    assert module._load(path).num_rows == 1000

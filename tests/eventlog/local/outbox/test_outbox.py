import errno
import os
import shutil
from contextlib import ExitStack, closing, contextmanager
from itertools import accumulate, pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.eventlog.arrivals import memory_folder, python, snapshot

from headrace.errors import LogLocked, LogUnavailable, OutboxGap
from headrace.eventlog.local.outbox.files import UnreadablePairs, encode_range, list_ranges, read_pairs
from headrace.eventlog.local.outbox.reader import LocalOutboxReader
from headrace.eventlog.local.outbox.writer import LocalOutboxWriter
from headrace.events.positions import LogPosition
from headrace.matching.matcher import PAIRS
from headrace.telemetry.health import HEALTH, Status


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
    found = [row for _, table in LocalOutboxReader(folder).read(LogPosition.at(start)) for row in rows(table)]
    positions = [position for position, _ in found]
    assert positions == sorted(positions)
    return sorted(found)


@contextmanager
def outboxes():
    with ExitStack() as stack:
        yield lambda folder, begin=0: stack.enter_context(
            closing(LocalOutboxWriter(folder, LogPosition.at(begin)))
        )


@pytest.fixture(autouse=True)
def _own_health():
    """What one test reports of the outbox is nothing to the next."""
    yield
    HEALTH.forget("outbox")


@pytest.fixture
def open_outbox():
    with outboxes() as opened:
        yield opened


def test_a_new_outbox_covers_nothing(tmp_path, open_outbox):
    assert open_outbox(tmp_path).covered() == LogPosition.at(0)
    assert LocalOutboxReader(tmp_path).covered() == LogPosition.at(0)
    assert read(tmp_path) == []


def test_what_was_written_is_read_in_order(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    assert writer.write(LogPosition.at(0), LogPosition.at(7), pairs(0, 7)) == len(plan(0, 7))
    assert writer.write(LogPosition.at(7), LogPosition.at(9), pairs(7, 9)) == len(plan(7, 9))
    assert writer.covered() == LocalOutboxReader(tmp_path).covered() == LogPosition.at(9)
    assert [end for end, _ in LocalOutboxReader(tmp_path).read(LogPosition())] == [
        LogPosition.at(7),
        LogPosition.at(9),
    ]
    assert read(tmp_path) == plan(0, 9)


@pytest.mark.parametrize("start", range(13))
def test_reading_from_any_position(tmp_path, open_outbox, start):
    writer = open_outbox(tmp_path)
    for begin, end in ((0, 4), (4, 5), (5, 12)):
        writer.write(LogPosition.at(begin), LogPosition.at(end), pairs(begin, end))
    assert read(tmp_path, start) == plan(start, 12)
    ends = [end[0] for end, _ in LocalOutboxReader(tmp_path).read(LogPosition.at(start))]
    assert ends == [end for end in (4, 5, 12) if end > start]


def test_a_range_without_deliveries_counts_as_planned(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    assert writer.write(LogPosition.at(0), LogPosition.at(1), pairs(0, 1)) == 0
    ((end, table),) = LocalOutboxReader(tmp_path).read(LogPosition())
    assert (end, table.num_rows) == (LogPosition.at(1), 0)
    writer.close()
    assert open_outbox(tmp_path).covered() == LogPosition.at(1)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
def test_the_plan_as_spark_hands_it_over(tmp_path, open_outbox, kind):
    given_ = pa.table({"position": [1, 2], "subscription": pa.array(["s0", "s0"], kind)})
    assert (
        open_outbox(tmp_path).write(
            LogPosition.at(0), LogPosition.at(3), pa.concat_tables([given_, given_.slice(0, 0)])
        )
        == 2
    )
    assert read(tmp_path) == [(1, "s0"), (2, "s0")]


def test_a_covered_range_changes_nothing(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    writer.write(LogPosition.at(0), LogPosition.at(6), pairs(0, 6))
    before = snapshot(tmp_path)
    for start, end in ((0, 6), (0, 3), (2, 5), (5, 6), (3, 3), (6, 6)):
        assert writer.write(LogPosition.at(start), LogPosition.at(end), pairs(start, end)) == 0
        assert snapshot(tmp_path) == before
    writer.close()
    assert open_outbox(tmp_path).write(LogPosition.at(0), LogPosition.at(6), pairs(0, 6)) == 0
    assert snapshot(tmp_path) == before


def test_of_a_partly_covered_range_only_the_rest_is_added(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    writer.write(LogPosition.at(0), LogPosition.at(6), pairs(0, 6))
    before = snapshot(tmp_path)
    assert writer.write(LogPosition.at(2), LogPosition.at(9), pairs(2, 9)) == len(plan(6, 9))
    after = snapshot(tmp_path)
    assert {name: after[name] for name in before if name != "COVERED"} == {
        name: content for name, content in before.items() if name != "COVERED"
    }
    assert read(tmp_path) == plan(0, 9)


def test_a_gap_is_refused(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    writer.write(LogPosition.at(0), LogPosition.at(6), pairs(0, 6))
    before = snapshot(tmp_path)
    with pytest.raises(OutboxGap) as caught:
        writer.write(LogPosition.at(7), LogPosition.at(9), pairs(7, 9))
    assert (caught.value.covered, caught.value.start) == (LogPosition.at(6), LogPosition.at(7))
    assert snapshot(tmp_path) == before


def test_an_outbox_may_begin_where_the_log_begins(tmp_path, open_outbox):
    writer = open_outbox(tmp_path, 5)
    assert writer.covered() == LocalOutboxReader(tmp_path).covered() == LogPosition.at(5)
    writer.write(LogPosition.at(5), LogPosition.at(8), pairs(5, 8))
    writer.close()
    assert open_outbox(tmp_path, 5).covered() == LogPosition.at(8)
    assert read(tmp_path) == plan(5, 8)


def test_the_files_are_the_truth_at_the_next_start(tmp_path, open_outbox):
    """The writer was killed between the file and the mark, or the mark was lost."""
    writer = open_outbox(tmp_path)
    writer.write(LogPosition.at(0), LogPosition.at(6), pairs(0, 6))
    old_mark = (tmp_path / "COVERED").read_bytes()
    writer.write(LogPosition.at(6), LogPosition.at(9), pairs(6, 9))
    writer.close()
    for mark in (old_mark, bytes(16), b""):
        (tmp_path / "COVERED").write_bytes(mark)
        again = open_outbox(tmp_path)
        assert again.covered() == LocalOutboxReader(tmp_path).covered() == LogPosition.at(9)
        assert again.write(LogPosition.at(6), LogPosition.at(9), pairs(6, 9)) == 0
        again.close()
        assert read(tmp_path) == plan(0, 9)


def test_without_a_mark_the_files_tell_what_is_covered(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    writer.write(LogPosition.at(0), LogPosition.at(6), pairs(0, 6))
    writer.close()
    (tmp_path / "COVERED").unlink()
    assert LocalOutboxReader(tmp_path).covered() == LogPosition.at(6)
    assert read(tmp_path) == plan(0, 6)


def test_what_is_not_marked_yet_is_not_read(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    writer.write(LogPosition.at(0), LogPosition.at(3), pairs(0, 3))
    old_mark = (tmp_path / "COVERED").read_bytes()
    writer.write(LogPosition.at(3), LogPosition.at(6), pairs(3, 6))
    (tmp_path / "COVERED").write_bytes(old_mark)
    assert read(tmp_path) == plan(0, 3)


def test_leftovers_of_a_crash_are_ignored_and_removed(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    writer.write(LogPosition.at(0), LogPosition.at(3), pairs(0, 3))
    writer.close()
    (tmp_path / "00000000000000000003-00000000000000000009.arrow.tmp").write_bytes(
        b"ARROW1 and then the power went"
    )
    assert LocalOutboxReader(tmp_path).covered() == LogPosition.at(3)
    assert read(tmp_path) == plan(0, 3)
    again = open_outbox(tmp_path)
    assert again.covered() == LogPosition.at(3)
    assert not list(tmp_path.glob("*.tmp"))
    again.write(LogPosition.at(3), LogPosition.at(9), pairs(3, 9))
    assert read(tmp_path) == plan(0, 9)


@pytest.mark.parametrize(
    ("before", "left"),
    [(0, [3, 5, 9]), (2, [3, 5, 9]), (3, [5, 9]), (4, [5, 9]), (5, [9]), (9, [9]), (100, [9])],
)
def test_dropping_keeps_what_is_needed_and_the_newest(tmp_path, open_outbox, before, left):
    writer = open_outbox(tmp_path)
    for start, end in ((0, 3), (3, 5), (5, 9)):
        writer.write(LogPosition.at(start), LogPosition.at(end), pairs(start, end))
    files = LocalOutboxReader(tmp_path)
    held = sum(path.stat().st_size for path in tmp_path.glob("*.arrow"))
    freed = files.drop(LogPosition.at(before))
    assert freed == held - sum(path.stat().st_size for path in tmp_path.glob("*.arrow"))
    assert [span.end for span in list_ranges(tmp_path)] == left
    assert read(tmp_path, min(before, 9)) == plan(min(before, 9), 9)
    writer.close()
    again = open_outbox(tmp_path)
    assert again.covered() == LogPosition.at(9)
    again.write(LogPosition.at(9), LogPosition.at(12), pairs(9, 12))
    assert read(tmp_path, 9) == plan(9, 12)


def test_pairs_outlive_their_file(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    writer.write(LogPosition.at(0), LogPosition.at(3), pairs(0, 3))
    writer.write(LogPosition.at(3), LogPosition.at(6), pairs(3, 6))
    files = LocalOutboxReader(tmp_path)
    tables = [table for _, table in files.read(LogPosition())]
    files.drop(LogPosition.at(3))
    assert sorted(row for table in tables for row in rows(table)) == plan(0, 6)


HOLD = """
import sys
from pathlib import Path
from headrace.eventlog.local.outbox.writer import LocalOutboxWriter
writer = LocalOutboxWriter(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_writer_is_refused(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    with pytest.raises(LogLocked, match=f"process {os.getpid()}"):
        LocalOutboxWriter(tmp_path)
    writer.close()
    with python(HOLD, tmp_path) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LogLocked, match=f"process {holder.pid}"):
            LocalOutboxWriter(tmp_path)
        holder.kill()
    open_outbox(tmp_path).write(LogPosition.at(0), LogPosition.at(3), pairs(0, 3))


@pytest.mark.parametrize("step", ["os.fsync", "headrace.eventlog.local.files.sync_folder"])
def test_a_write_that_fails_and_is_repeated_with_another_end(tmp_path, open_outbox, monkeypatch, step):
    """After a failure routing begins again where the outbox says, and takes more events with it."""
    writer = open_outbox(tmp_path)
    writer.write(LogPosition.at(0), LogPosition.at(3), pairs(0, 3))

    def broken(*_):
        raise OSError("no")

    with monkeypatch.context() as patch:
        patch.setattr(step, broken)
        with pytest.raises(OSError, match="no"):
            writer.write(LogPosition.at(3), LogPosition.at(6), pairs(3, 6))
    assert read(tmp_path) == plan(0, 3)
    start = writer.covered()[0]
    writer.write(LogPosition.at(start), LogPosition.at(9), pairs(start, 9))
    assert read(tmp_path) == plan(0, 9)
    writer.close()
    assert open_outbox(tmp_path).covered() == LogPosition.at(9)


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
                    writer.write(LogPosition.at(start), LogPosition.at(end), pairs(start, end))
            else:
                assert writer.write(LogPosition.at(start), LogPosition.at(end), pairs(start, end)) == len(
                    plan(covered, end)
                )
                covered = max(covered, end)
            if then == "reopen":
                writer.close()
                writer = open_outbox(folder)
            elif then == "drop":
                LocalOutboxReader(folder).drop(LogPosition.at(start))
                dropped = max(dropped, start)
            assert writer.covered() == LocalOutboxReader(folder).covered() == LogPosition.at(covered)
            floor = min(dropped, covered)
            assert read(folder, floor) == plan(floor, covered)


def test_a_subscription_id_is_stored_once_per_file(tmp_path, open_outbox):
    name = "s" * 5000
    many = pa.table([pa.array(range(1000), pa.int64()), pa.array([name] * 1000)], schema=PAIRS)
    open_outbox(tmp_path).write(LogPosition.at(0), LogPosition.at(1000), many)
    (path,) = tmp_path.glob("*.arrow")
    assert path.stat().st_size < 50_000
    (span,) = list_ranges(tmp_path)
    assert read_pairs(span).num_rows == 1000


# Files that are missing or damaged


def _remove(path):
    path.unlink()


def _empty(path):
    path.write_bytes(b"")


def _truncate(path):
    path.write_bytes(path.read_bytes()[:-9])


def _flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x20
    path.write_bytes(content)


def _swap_for_a_neighbour(path):
    """A whole file under another's name: its header tells."""
    path.write_bytes(encode_range(0, 1, pairs(0, 1)))


SPOILS = (_remove, _empty, _truncate, _flip, _swap_for_a_neighbour)


def _write_files(writer, edges):
    for start, end in pairwise(edges):
        writer.write(LogPosition.at(start), LogPosition.at(end), pairs(start, end))


def _route_from(writer, end):
    """What the route does when it is started: everything from what is covered on is matched again."""
    start = writer.covered()[0]
    for begin in range(start, end, 4):
        writer.write(
            LogPosition.at(begin), LogPosition.at(min(begin + 4, end)), pairs(begin, min(begin + 4, end))
        )


@pytest.mark.parametrize("spoil", SPOILS)
def test_reading_stops_before_a_hole_and_goes_on_when_it_is_filled(tmp_path, open_outbox, spoil, caplog):
    writer = open_outbox(tmp_path)
    _write_files(writer, [0, 3, 6, 9])
    spoil(list_ranges(tmp_path)[1].path)
    files = LocalOutboxReader(tmp_path)
    assert [end for end, _ in files.read(LogPosition())] == [LogPosition.at(3)]
    for _ in range(3):
        assert list(files.read(LogPosition.at(3))) == []
        assert files.is_blocked
    assert sum("position 3" in record.message for record in caplog.records) == 1, "told once"
    assert "position 3" in HEALTH.reports()["outbox"].note
    assert HEALTH.reports()["outbox"].status is Status.BLOCKED
    writer.refresh()
    assert writer.covered() == LocalOutboxReader(tmp_path).covered() == LogPosition.at(3)
    assert writer.write(LogPosition.at(3), LogPosition.at(9), pairs(3, 9)) == len(plan(3, 6)), (
        "only what was missing"
    )
    assert writer.covered() == LogPosition.at(9)
    assert [end for end, _ in files.read(LogPosition.at(3))] == [LogPosition.at(6), LogPosition.at(9)]
    assert not files.is_blocked
    assert "outbox" not in HEALTH.reports()
    assert read(tmp_path) == plan(0, 9)


def test_a_damaged_file_is_kept_under_another_name(tmp_path, open_outbox, caplog):
    _write_files(open_outbox(tmp_path), [0, 3, 6])
    path = list_ranges(tmp_path)[0].path
    _flip(path)
    damaged = path.read_bytes()
    assert read(tmp_path) == []
    assert path.with_name(f"{path.name}.damaged").read_bytes() == damaged
    assert "its checksum is wrong" in caplog.text
    assert "positions 0 to 2 are routed again" in caplog.text


@pytest.mark.parametrize("bit", [0, 7])
def test_every_flipped_bit_of_a_file_is_noticed(tmp_path, open_outbox, bit):
    _write_files(open_outbox(tmp_path), [0, 3])
    (span,) = list_ranges(tmp_path)
    whole = span.path.read_bytes()
    for at in range(len(whole)):
        span.path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
        with pytest.raises(UnreadablePairs):
            read_pairs(span)


def test_a_file_cut_at_any_byte_is_noticed(tmp_path, open_outbox):
    _write_files(open_outbox(tmp_path), [0, 3])
    (span,) = list_ranges(tmp_path)
    whole = span.path.read_bytes()
    for size in range(len(whole)):
        span.path.write_bytes(whole[:size])
        with pytest.raises(UnreadablePairs):
            read_pairs(span)


def _without_header(path):
    """A file as it was before files had headers."""
    path.write_bytes(path.read_bytes()[64:])


def test_files_without_a_header_are_read_and_their_damage_noticed(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    _write_files(writer, [0, 3, 6])
    for span in list_ranges(tmp_path):
        _without_header(span.path)
    assert read(tmp_path) == plan(0, 6)
    _truncate(list_ranges(tmp_path)[1].path)
    assert read(tmp_path) == plan(0, 3)
    writer.refresh()
    _route_from(writer, 6)
    assert read(tmp_path) == plan(0, 6)


def test_what_was_dropped_in_good_order_is_no_hole(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    _write_files(writer, [0, 3, 6, 9])
    LocalOutboxReader(tmp_path).drop(LogPosition.at(7))
    writer.refresh()
    assert writer.covered() == LogPosition.at(9)
    writer.close()
    assert open_outbox(tmp_path).covered() == LogPosition.at(9)


def test_an_older_cursor_has_what_was_dropped_routed_again(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    _write_files(writer, [0, 3, 6, 9])
    LocalOutboxReader(tmp_path).drop(LogPosition.at(7))
    assert read(tmp_path, 2) == []
    writer.refresh()
    assert writer.covered() == LogPosition.at(2)
    _route_from(writer, 9)
    assert read(tmp_path, 2) == plan(2, 9)


@pytest.mark.parametrize("spoil", [_remove, _empty, _flip])
def test_without_the_mark_of_what_is_settled_nothing_is_lost(tmp_path, open_outbox, spoil):
    writer = open_outbox(tmp_path)
    _write_files(writer, [0, 3, 6, 9])
    LocalOutboxReader(tmp_path).drop(LogPosition.at(4))
    spoil(tmp_path / "SETTLED")
    list_ranges(tmp_path)[0].path.unlink()
    writer.refresh()
    assert writer.covered() == LogPosition.at(9), "as far as can be told"
    assert read(tmp_path, 4) == []
    writer.refresh()
    assert writer.covered() == LogPosition.at(4)
    _route_from(writer, 9)
    assert read(tmp_path, 4) == plan(4, 9)


def test_files_that_overlap_give_each_pair_once(tmp_path, open_outbox):
    """An older copy was laid over the folder."""
    _write_files(open_outbox(tmp_path), [0, 3, 6, 9])
    (tmp_path / f"{1:020d}-{8:020d}.arrow").write_bytes(encode_range(1, 8, pairs(1, 8).sort_by("position")))
    assert read(tmp_path) == plan(0, 9)


def test_files_with_other_names_are_left_alone(tmp_path, open_outbox):
    writer = open_outbox(tmp_path)
    _write_files(writer, [0, 3])
    for name in ("notes.arrow", "1-2.arrow", f"{5:020d}-{2:020d}.arrow"):
        (tmp_path / name).write_bytes(b"")
    writer.refresh()
    assert writer.covered() == LogPosition.at(3)
    assert read(tmp_path) == plan(0, 3)


def test_deliveries_of_events_that_the_log_lacks_wait(tmp_path, open_outbox):
    _write_files(open_outbox(tmp_path), [0, 3, 6])
    ends = [LogPosition.at(4)]
    files = LocalOutboxReader(tmp_path, lambda: ends[-1])
    assert [end for end, _ in files.read(LogPosition())] == [LogPosition.at(3)]
    assert files.is_blocked
    assert "the log ends at 4" in HEALTH.reports()["outbox"].note
    ends.append(LogPosition.at(6))
    assert [end for end, _ in files.read(LogPosition.at(3))] == [LogPosition.at(6)]
    assert not files.is_blocked


def test_a_folder_that_was_replaced_is_not_written_into(tmp_path, open_outbox):
    writer = open_outbox(tmp_path / "outbox")
    (tmp_path / "outbox").rename(tmp_path / "elsewhere")
    for _ in range(2):
        with pytest.raises(LogUnavailable, match="removed or replaced"):
            writer.write(LogPosition.at(0), LogPosition.at(3), pairs(0, 3))
        (tmp_path / "outbox").mkdir(exist_ok=True)
    assert not list_ranges(tmp_path / "outbox")
    assert not list_ranges(tmp_path / "elsewhere")


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=8),
    st.dictionaries(st.integers(0, 7), st.sampled_from(SPOILS), max_size=8),
    st.booleans(),
    st.integers(0, 20),
)
def test_whatever_happens_to_files_the_pairs_are_those_of_a_run_without_faults(
    lengths, faults, reopens, cursor
):
    """Any files are removed or damaged; the reader finds out one by one, and the route fills holes from the log."""
    edges = [0, *accumulate(lengths)]
    cursor = min(cursor, edges[-1])
    with memory_folder() as folder, outboxes() as open_outbox:
        writer = open_outbox(folder)
        _write_files(writer, edges)
        LocalOutboxReader(folder).drop(LogPosition.at(cursor))
        for span in list_ranges(folder):
            if (spoil := faults.get(edges.index(span.start))) is not None:
                spoil(span.path)
        files, position, found = LocalOutboxReader(folder), cursor, []
        for _ in range(2 * len(edges) + 2):
            for end, table in files.read(LogPosition.at(position)):
                found += rows(table)
                position = end[0]
            if reopens:
                writer.close()
                writer = open_outbox(folder)
            writer.refresh()
            _route_from(writer, edges[-1])
        assert position == edges[-1]
        assert sorted(found) == plan(cursor, edges[-1]), "nothing lost, nothing doubled"
        assert read(folder, cursor) == plan(cursor, edges[-1])


def test_all_damaged_files_are_found_at_once(tmp_path, open_outbox):
    """So that one new query of the route fills all holes."""
    writer = open_outbox(tmp_path)
    _write_files(writer, [0, 3, 6, 9, 12])
    for number in (1, 3):
        _flip(list_ranges(tmp_path)[number].path)
    files = LocalOutboxReader(tmp_path)
    assert [end for end, _ in files.read(LogPosition())] == [LogPosition.at(3)]
    assert [span.start for span in list_ranges(tmp_path)] == [0, 6]
    writer.refresh()
    _route_from(writer, 12)
    assert read(tmp_path) == plan(0, 12)


def test_a_file_that_the_disk_can_not_read_is_damaged(tmp_path, open_outbox, monkeypatch):
    _write_files(open_outbox(tmp_path), [0, 3])
    (span,) = list_ranges(tmp_path)

    def broken(_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("pathlib.Path.read_bytes", broken)
    with pytest.raises(UnreadablePairs, match="the disk"):
        read_pairs(span)


def test_a_folder_that_is_gone_is_waited_for(tmp_path, open_outbox):
    _write_files(open_outbox(tmp_path / "outbox"), [0, 3])
    files = LocalOutboxReader(tmp_path / "outbox")
    shutil.rmtree(tmp_path / "outbox")
    assert list(files.read(LogPosition())) == []
    assert files.is_blocked
    _write_files(open_outbox(tmp_path / "outbox"), [0, 3])
    assert read(tmp_path / "outbox") == plan(0, 3)

"""What was durable is found again or missed loudly; what was torn is cut; nothing else is touched."""

import os
import struct
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from tests.eventlog.arrivals import (
    HUGE,
    arrival,
    arrivals,
    build,
    ids,
    memory_folder,
    remember,
    set_end,
    snapshot,
)

from headrace.errors import LogDamaged
from headrace.eventlog.damage import Damage
from headrace.eventlog.local.frames import FRAME_HEADER, SEGMENT_HEADER, SegmentHead, pack_segment_head
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.segments import list_segments, segment_path
from headrace.eventlog.local.watermark import Watermark
from headrace.eventlog.local.writer import SegmentWriter
from headrace.events.batch import from_batch

COMMITS = ["ab", "c", "def"]
FRAMES = [0, 2, 3, 6]  # the positions at which frames begin, and the end


@pytest.fixture(scope="module")
def memory():
    with memory_folder() as folder:
        yield folder


@pytest.fixture
def fresh(memory):
    """New folders' paths."""
    names = (memory / f"{os.urandom(4).hex()}-{number}" for number in count())
    return lambda: next(names)


@pytest.fixture(scope="module")
def one_segment(memory):
    """A log of three frames in one segment, and where each of them begins and ends in the file."""
    folder = memory / "one"
    edges = [SEGMENT_HEADER]
    with closing(SegmentWriter(folder, HUGE)) as writer:
        for names in COMMITS:
            writer.append(arrivals(names))
            edges.append(segment_path(folder, 0).stat().st_size)
    return remember(folder), edges


def reopen(folder, segment_bytes=HUGE):
    with closing(SegmentWriter(folder, segment_bytes)) as writer:
        return writer.end


def refused(folder):
    """Open the log, which has to be refused and left alone, and return the error."""
    before = snapshot(folder)
    with pytest.raises(LogDamaged) as caught:
        SegmentWriter(folder, HUGE)
    assert snapshot(folder) == before
    assert caught.value.path in str(caught.value)
    assert f"at byte {caught.value.offset}" in str(caught.value)
    return caught.value


def goes_on(folder, names):
    """The log has these events, takes another one, and has them all when it is opened again."""
    with closing(SegmentWriter(folder, HUGE)) as writer:
        assert ids(folder) == names
        assert writer.append([arrival("next")]) == len(names)
    assert reopen(folder) == len(names) + 1
    assert ids(folder) == [*names, "next"]


@pytest.mark.parametrize("end", [None, FRAMES[2]], ids=["mark-lost", "mark-before"])
def test_a_frame_torn_at_any_byte_is_cut(one_segment, fresh, end):
    lay_out, edges = one_segment
    for size in range(edges[2], edges[3]):
        folder = lay_out(fresh())
        os.truncate(segment_path(folder, 0), size)
        set_end(folder, end)
        assert reopen(folder) == FRAMES[2]
        assert segment_path(folder, 0).stat().st_size == edges[2]
        if size % 29 == 0 or size - edges[2] in (0, 1, FRAME_HEADER - 1, FRAME_HEADER, FRAME_HEADER + 1):
            goes_on(folder, list("abc"))


def test_a_durable_frame_cut_at_any_byte_is_damage(one_segment, fresh):
    lay_out, edges = one_segment
    for size in range(edges[2], edges[3]):
        folder = lay_out(fresh())
        os.truncate(segment_path(folder, 0), size)
        damage = refused(folder)
        assert damage.path == str(segment_path(folder, 0))
        assert damage.offset == edges[2]
        assert f"position {FRAMES[3]}" in str(damage)


def test_a_whole_frame_behind_the_mark_is_kept(one_segment, fresh):
    """The writer died between the sync and the mark."""
    lay_out, _ = one_segment
    for end in (*FRAMES, None):
        folder = lay_out(fresh())
        set_end(folder, end)
        goes_on(folder, list("abcdef"))


@pytest.mark.parametrize("part", ["header", "middle", "end", "all"])
def test_a_frame_whose_pages_came_to_the_disk_in_any_order_is_cut(one_segment, fresh, part):
    """After a power cut the file may be long enough, with zeros where a page is missing."""
    lay_out, edges = one_segment
    start, end = edges[2], edges[3]
    hole = {
        "header": (start, start + FRAME_HEADER),
        "middle": (start + 500, start + 600),
        "end": (end - 200, end),
        "all": (start, end),
    }[part]
    folder = lay_out(fresh())
    content = bytearray(segment_path(folder, 0).read_bytes())
    content[slice(*hole)] = bytes(hole[1] - hole[0])
    segment_path(folder, 0).write_bytes(content + bytes(4096))
    set_end(folder, FRAMES[2])
    goes_on(folder, list("abc"))


@pytest.mark.parametrize(
    ("end", "step"),
    [(FRAMES[3], 1), (FRAMES[1], 7), (None, 7)],
    ids=["mark-right", "mark-before", "mark-lost"],
)
def test_a_flipped_byte_before_the_last_frame_is_damage(one_segment, fresh, end, step):
    lay_out, edges = one_segment
    folder = lay_out(fresh())
    set_end(folder, end)
    path = segment_path(folder, 0)
    whole = path.read_bytes()
    for at in (*range(edges[0] + FRAME_HEADER), *range(edges[0] + FRAME_HEADER, edges[2], step)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        with pytest.raises(LogDamaged) as caught:
            SegmentWriter(folder, HUGE)
        assert caught.value.path == str(path)
        assert caught.value.offset == max([0, *(edge for edge in edges if edge <= at)])
        assert path.stat().st_size == len(whole)


def test_a_flipped_byte_in_a_sealed_segment_is_found_at_opening_or_at_reading(fresh):
    folder = build(fresh(), COMMITS, segment_bytes=1)
    path = segment_path(folder, FRAMES[1])
    whole = path.read_bytes()
    assert len(list_segments(folder)) == 3
    bodies = SEGMENT_HEADER + FRAME_HEADER
    for at in (*range(bodies), *range(bodies, len(whole), 3)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x01]) + whole[at + 1 :])
        if at < bodies:
            damage = refused(folder)
        else:
            assert reopen(folder) == 6
            assert ids(folder, 0, 2) == ["a", "b"]
            with pytest.raises(LogDamaged) as caught:
                ids(folder)
            damage = caught.value
        assert damage.path == str(path)
    path.write_bytes(whole)
    assert reopen(folder) == 6
    assert ids(folder) == list("abcdef")


@pytest.mark.parametrize("extra", [b"\0", b"HRF\x01", bytes(1000)])
def test_bytes_behind_a_sealed_segment_are_damage(fresh, extra):
    folder = build(fresh(), COMMITS, segment_bytes=1)
    path = segment_path(folder, 0)
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(extra)
    assert refused(folder).offset == size


@pytest.mark.parametrize("end", [None, FRAMES[3]], ids=["mark-lost", "mark-right"])
def test_a_frame_that_is_missing_between_whole_ones_is_damage(one_segment, fresh, end):
    lay_out, edges = one_segment
    folder = lay_out(fresh())
    reader = SegmentReader(folder)
    path = segment_path(folder, 0)
    whole = path.read_bytes()
    path.write_bytes(whole[: edges[1]] + whole[edges[2] :])
    with pytest.raises(LogDamaged):
        list(reader.read(FRAMES[1], FRAMES[3]))
    if end is None:
        (folder / "END").write_bytes(bytes(16))
    damage = refused(folder)
    assert (damage.path, damage.offset) == (str(path), edges[1])


def test_a_cut_sealed_segment_is_damage(fresh):
    folder = build(fresh(), COMMITS, segment_bytes=1)
    path = segment_path(folder, 0)
    os.truncate(path, path.stat().st_size - 1)
    damage = refused(folder)
    assert (damage.path, damage.offset) == (str(path), SEGMENT_HEADER)


def test_a_missing_middle_segment_is_damage(fresh):
    folder = build(fresh(), COMMITS, segment_bytes=1)
    before = segment_path(folder, FRAMES[0])
    segment_path(folder, FRAMES[1]).unlink()
    damage = refused(folder)
    assert (damage.path, damage.offset) == (str(before), before.stat().st_size)
    assert "ends at position 2, and the next segment begins at 3" in str(damage)


def test_a_missing_last_segment_is_damage(fresh):
    folder = build(fresh(), COMMITS, segment_bytes=1)
    segment_path(folder, FRAMES[2]).unlink()
    damage = refused(folder)
    assert damage.path == str(segment_path(folder, FRAMES[1]))
    assert "position 6" in str(damage)


def test_missing_segments_altogether_are_damage(fresh):
    folder = build(fresh(), COMMITS)
    segment_path(folder, 0).unlink()
    damage = refused(folder)
    assert (damage.path, damage.offset) == (str(folder), 0)


def test_missing_first_segments_were_expired(fresh):
    folder = build(fresh(), COMMITS, segment_bytes=1)
    segment_path(folder, 0).unlink()
    assert reopen(folder) == 6
    assert ids(folder, 2) == list("cdef")


def test_an_end_beyond_the_log_is_damage(fresh):
    folder = build(fresh(), COMMITS)
    set_end(folder, 7)
    damage = refused(folder)
    assert damage.path == str(segment_path(folder, 0))
    assert damage.offset == segment_path(folder, 0).stat().st_size
    assert "before position 7" in str(damage)


@pytest.mark.parametrize("end", [None, 0])
def test_an_empty_folder_is_a_new_log(fresh, end):
    folder = fresh()
    folder.mkdir()
    set_end(folder, end)
    goes_on(folder, [])


@pytest.mark.parametrize("name", ["notes.seg", "00000000000000000006.seg", "6.seg", "-1.seg", "1_0.seg"])
def test_a_foreign_file_is_damage(fresh, name):
    folder = build(fresh(), COMMITS)
    (folder / name).write_bytes(b"something else, and long enough to have a header" * 10)
    damage = refused(folder)
    assert (damage.path, damage.offset) == (str(folder / name), 0)


@pytest.mark.parametrize("size", [0, 1, SEGMENT_HEADER - 1])
def test_a_segment_without_a_whole_header_is_damage(fresh, size):
    folder = build(fresh(), COMMITS)
    path = segment_path(folder, FRAMES[3])
    path.write_bytes(pack_segment_head(SegmentHead(FRAMES[3], 1))[:size])
    damage = refused(folder)
    assert (damage.path, damage.offset) == (str(path), 0)
    assert "cut off" in str(damage)


def test_another_format_version_is_refused(fresh):
    folder = build(fresh(), COMMITS)
    path = segment_path(folder, 0)
    content = bytearray(path.read_bytes())
    struct.pack_into("<I", content, 8, 2)
    path.write_bytes(content)
    damage = refused(folder)
    assert (damage.path, damage.offset) == (str(path), 0)
    assert "format version 2, this program reads version 1" in str(damage)


def test_a_renamed_segment_is_damage(fresh):
    folder = build(fresh(), COMMITS)
    segment_path(folder, 0).rename(segment_path(folder, 1))
    damage = refused(folder)
    assert "begins at position 0" in str(damage)


def test_data_that_imitates_frames_is_not_taken_for_frames(fresh):
    """The event carries the whole segment so far, real frames with the real salt, at every alignment."""
    folder = build(fresh(), COMMITS)
    path = segment_path(folder, 0)
    whole = path.read_bytes()
    with closing(SegmentWriter(folder, HUGE)) as writer:
        for shift in range(8):
            writer.append([arrival(f"copy{shift}", bytes(shift) + whole[SEGMENT_HEADER:])])
    names = [*"abcdef", *(f"copy{shift}" for shift in range(8))]
    set_end(folder, None)
    assert reopen(folder) == len(names)
    assert ids(folder) == names
    lay_out = remember(folder)
    content = path.read_bytes()
    last = content.rindex(b"HRF\x01", 0, len(content) - len(whole))
    for size in range(last, len(content), 97):
        torn = lay_out(fresh())
        os.truncate(segment_path(torn, 0), size)
        set_end(torn, None)
        assert reopen(torn) == len(names) - 1
        assert segment_path(torn, 0).stat().st_size == last
    goes_on(torn, names[:-1])


def test_what_is_kept_is_made_durable_first(fresh, monkeypatch):
    """A frame that a killed writer left may still be in memory only; readers must not see it before it is synced."""
    folder = build(fresh(), COMMITS)
    set_end(folder, FRAMES[1])
    synced = []
    for name in ("fsync", "fdatasync"):
        real = getattr(os, name)

        def record(descriptor, real=real):
            real(descriptor)
            synced.append(
                (str(Path(f"/proc/self/fd/{descriptor}").readlink()), Watermark(folder / "END").get())
            )

        monkeypatch.setattr(os, name, record)
    assert reopen(folder) == FRAMES[3]
    assert (str(segment_path(folder, 0)), FRAMES[1]) in synced
    assert (str(folder), FRAMES[1]) in synced


def test_a_refused_log_is_not_kept_locked(fresh):
    folder = build(fresh(), COMMITS)
    set_end(folder, 7)
    with pytest.raises(LogDamaged) as caught:
        SegmentWriter(folder, HUGE)
    set_end(folder, 6)
    assert reopen(folder) == 6
    assert caught.value.offset


def _cut_last(folder, _edges):
    os.truncate(segment_path(folder, 0), segment_path(folder, 0).stat().st_size - 1)


def _spoil_head(folder, _edges):
    _flip(segment_path(folder, 0), 3)


def _spoil_middle(folder, edges):
    _flip(segment_path(folder, 0), edges[1] + 4)


def _remove_all(folder, _edges):
    segment_path(folder, 0).unlink()


def _flip(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 0x10
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "kept", "end"),
    [
        (_cut_last, "abc", FRAMES[3]),
        (_spoil_head, "", FRAMES[3]),
        (_spoil_head, "", None),
        (_spoil_middle, "abdef", FRAMES[3]),
        (_spoil_middle, "abdef", None),
        (_remove_all, "", FRAMES[3]),
    ],
)
def test_damage_that_is_accepted_is_kept_and_gone_on_behind(one_segment, fresh, spoil, kept, end):
    lay_out, edges = one_segment
    folder = lay_out(fresh())
    spoil(folder, edges)
    set_end(folder, end)
    before = {name: content for name, content in snapshot(folder).items() if name.endswith(".seg")}
    with pytest.raises(LogDamaged):
        SegmentWriter(folder, HUGE)
    with closing(SegmentWriter(folder, HUGE, accept_damage=True)) as writer:
        first = writer.append([arrival("next")])
    assert before.items() <= snapshot(folder).items(), "what there was is left as it is"
    assert first >= FRAMES[3], "no position is given away twice"
    told: list[Damage] = []
    reader = SegmentReader(folder)
    begin = reader.start()[0]
    found = [each for batch in reader.read(begin, first + 1, told.append) for each in from_batch(batch)]
    expected = {position: name for position, name in enumerate("abcdef") if name in kept}
    assert {each.position: each.event.id for each in found} == expected | {first: "next"}
    lost = {position for each in told for position in range(each.start, each.end)}
    assert lost == set(range(begin, first)) - set(expected)
    with closing(SegmentWriter(folder, HUGE, accept_damage=True)) as writer:
        assert writer.end == first + 1
    assert reopen(folder) == first + 1, "what was accepted isn't asked about again"


def test_damage_behind_what_was_accepted_is_refused(fresh):
    folder = build(fresh(), COMMITS, segment_bytes=1)
    _cut(segment_path(folder, FRAMES[1]))
    with closing(SegmentWriter(folder, HUGE, accept_damage=True)) as writer:
        writer.append([arrival("next")])
    assert reopen(folder) == FRAMES[3] + 1
    _cut(segment_path(folder, 0))
    assert refused(folder).path == str(segment_path(folder, 0))


def _cut(path):
    os.truncate(path, path.stat().st_size - 1)


def test_a_cut_is_told_with_its_place(one_segment, fresh, caplog):
    lay_out, edges = one_segment
    folder = lay_out(fresh())
    os.truncate(segment_path(folder, 0), edges[3] - 7)
    set_end(folder, None)
    reopen(folder)
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert str(segment_path(folder, 0)) in record.message
    assert f"truncated at byte {edges[2]}" in record.message
    assert f"the last {edges[3] - 7 - edges[2]} bytes" in record.message
    assert f"position {FRAMES[2]}" in record.message
    caplog.clear()
    reopen(folder)
    assert not caplog.records

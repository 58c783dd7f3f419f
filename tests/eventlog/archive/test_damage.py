"""Damage in the log or in the archive's own files: told with what is lost, and everything else goes on."""

import shutil
import time
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.eventlog.archive.archives import DAY, archive, archived, arrival, keeper, recorded_log
from tests.eventlog.archive.archives import settings as archive_settings
from tests.eventlog.arrivals import arrivals, build, memory_folder

from headrace.errors import ArchiveDamaged, ArchiveRefused, LogDamaged
from headrace.eventlog.archive.compaction import join_files
from headrace.eventlog.archive.maintenance import ArchiveMaintenance, drop_damaged_files
from headrace.eventlog.archive.storage import Storage
from headrace.eventlog.archive.verification import check_sizes, explain_spark_error, verify_file
from headrace.eventlog.damage import Damage
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.segments import segment_path
from headrace.eventlog.local.writer import SegmentWriter


def _flip(path, at=None):
    content = bytearray(path.read_bytes())
    content[len(content) // 2 if at is None else at] ^= 0x10
    path.write_bytes(content)


# Of the log


def _keep(storage, folder, told):
    return ArchiveMaintenance(storage, SegmentReader(folder), archive_settings(), told.append).run()


@settings(max_examples=15, deadline=None)
@given(st.sets(st.integers(0, 4)))
def test_damaged_frames_are_set_aside_and_the_others_archived(spoilt):
    with memory_folder() as memory:
        folder = build(memory / "log", [[f"{n}a", f"{n}b"] for n in range(6)], segment_bytes=1)
        for n in spoilt:
            path = segment_path(folder, 2 * n)
            _flip(path, path.stat().st_size - 20)
        storage = Storage(str(memory / "archive"))
        told: list[Damage] = []
        done = _keep(storage, folder, told)
        lost = {position for each in told for position in range(each.start, each.end)}
        assert lost == {position for n in spoilt for position in (2 * n, 2 * n + 1)}
        assert {each.position for each in archived(storage)} == set(range(12)) - lost
        assert (done.manifest.archived, done.lost) == ({0: 12}, len(lost))
        with closing(SegmentWriter(folder, 1)) as writer:
            writer.append(arrivals("z"))
        again = _keep(storage, folder, told)
        assert (again.archived, again.lost) == (1, 0), "archiving goes on, and what is lost is told once"


def test_without_anybody_to_tell_it_to_damage_is_an_error(tmp_path):
    folder = build(tmp_path / "log", ["ab", "c"], segment_bytes=1)
    _flip(segment_path(folder, 0), segment_path(folder, 0).stat().st_size - 20)
    with pytest.raises(LogDamaged):
        ArchiveMaintenance(
            Storage(str(tmp_path / "archive")), SegmentReader(folder), archive_settings()
        ).run()


def test_damage_that_can_not_be_told_yet_is_not_passed_over(tmp_path):
    folder = build(tmp_path / "log", ["ab", "c"], segment_bytes=1)
    _flip(segment_path(folder, 0), segment_path(folder, 0).stat().st_size - 20)
    storage = Storage(str(tmp_path / "archive"))

    def away(_: Damage) -> None:
        raise ConnectionError("the store is away")

    with pytest.raises(ConnectionError):
        ArchiveMaintenance(storage, SegmentReader(folder), archive_settings(), away).run()
    assert storage.manifest().archived == {}


# Of the archive


@pytest.fixture
def storage(tmp_path):
    """Five files of a day that is over, which are to be joined, of two channels."""
    log = recorded_log(
        [[arrival(n, channel="d" if n == 4 else "c")] for n in range(5)], [DAY * 3 + n for n in range(5)]
    )
    made = Storage(str(tmp_path / "archive"))
    archive(made, log, 5, commit_events=1)
    return made


def _path(storage, file):
    return storage.folder / file.path


def _empty(path):
    path.write_bytes(b"")


def _truncate(path):
    path.write_bytes(path.read_bytes()[:-30])


def _flip_data(path):
    _flip(path, 60)


SPOILS = {
    "removed": (lambda path: path.unlink(), "No such file"),
    "emptied": (_empty, "it has 0 bytes instead of"),
    "truncated": (_truncate, "bytes instead of"),
    "flipped": (_flip_data, ""),
}


@pytest.mark.parametrize(("spoil", "problem"), SPOILS.values(), ids=SPOILS)
def test_a_damaged_file_is_named_with_what_it_held(storage, spoil, problem):
    file = storage.manifest().files[1]
    assert verify_file(storage, file) is None
    spoil(_path(storage, file))
    found = verify_file(storage, file)
    assert isinstance(found, ArchiveDamaged)
    assert problem in str(found)
    assert file.path in str(found)
    assert "1 events of channel n/c of 1970-01-04 (positions 1 to 1)" in str(found)
    assert "headrace archive forget" in str(found)


@pytest.mark.parametrize("name", ["removed", "emptied", "truncated"])
def test_a_query_looks_at_sizes_first(storage, name):
    """Spark would take an empty file for one without events."""
    files = storage.manifest().files
    check_sizes(storage, files)
    SPOILS[name][0](_path(storage, files[2]))
    with pytest.raises(ArchiveDamaged):
        check_sizes(storage, files)


@pytest.mark.parametrize("spoil", [spoil for spoil, _ in SPOILS.values()], ids=SPOILS)
def test_a_damaged_file_is_not_joined_and_told_once_and_stops_nothing(storage, spoil, caplog):
    files = storage.manifest().files
    spoil(_path(storage, files[1]))
    with pytest.raises(ArchiveDamaged):
        join_files(storage, files[:4])
    log = recorded_log([[arrival(n)] for n in range(6)], [time.time_ns() // 1000] * 6)
    keeping = keeper(storage, log, archive_settings())
    done = [keeping.run() for _ in range(3)]
    assert [each.archived for each in done] == [1, 0, 0]
    assert all(file in done[-1].manifest.files for file in files)
    assert sum(files[1].path in record.message for record in caplog.records) == 1


def test_damaged_files_can_be_given_up(storage):
    files = storage.manifest().files
    _empty(_path(storage, files[0]))
    _path(storage, files[3]).unlink()
    given_up = drop_damaged_files(storage)
    assert [each.path for each in given_up] == [storage.uri(files[0].path), storage.uri(files[3].path)]
    manifest = storage.manifest()
    assert manifest.files == (files[1], files[2], files[4])
    assert manifest.lost == {0: 2}
    assert drop_damaged_files(storage) == []
    assert storage.manifest() == manifest


def test_an_error_of_spark_is_blamed_on_the_file_that_it_names(storage):
    file = storage.manifest().files[1]
    error = RuntimeError(
        f"Encountered error while reading file file://{storage.uri(file.path)}. SQLSTATE: KD001"
    )
    assert explain_spark_error(storage, RuntimeError("of another kind")).args == ("of another kind",)
    assert "Spark can't read it" in str(explain_spark_error(storage, error))
    _truncate(_path(storage, file))
    assert "instead of" in str(explain_spark_error(storage, error))


def test_an_archive_without_its_manifests_is_refused_and_its_files_stay(storage):
    log = recorded_log([[arrival(n)] for n in range(5)])
    keeper(storage, log, archive_settings()).run()
    for path in storage.folder.glob("manifest-*"):
        path.unlink()
    lying = storage.list_events()
    with pytest.raises(ArchiveRefused, match="none is left"):
        keeper(storage, log, archive_settings()).run()
    assert storage.list_events() == lying != {}


def test_the_manifest_before_the_last_is_enough(storage, tmp_path):
    """Who loses the newest archives its events from the log once more."""
    log = recorded_log([[arrival(n)] for n in range(5)])
    shutil.copytree(storage.folder, tmp_path / "copy")
    max(storage.folder.glob("manifest-*")).unlink()
    keeper(storage, log, archive_settings()).run()
    assert [each.position for each in archived(storage)] == [0, 1, 2, 3, 4]

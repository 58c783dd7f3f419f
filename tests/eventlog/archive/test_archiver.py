"""From the log to files and back: every event once, where its channel and its day say."""

from datetime import date

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.eventlog.archive.archives import DAY, archive, archived, arrival, recorded_log
from tests.eventlog.arrivals import memory_folder

from headrace.errors import ArchiveRefused
from headrace.eventlog.archive.channel_days import ChannelDay
from headrace.eventlog.archive.storage import Storage
from headrace.events.batch import to_batch
from headrace.events.event import Event
from headrace.events.positions import LogPosition, position_at
from headrace.events.recorded import Arrival

HOSTILE = [
    "..",
    "/",
    "a/b",
    "a\\b",
    "*?[x]{y}",
    "%2F",
    "namespace=x",
    "é\u202e",
    "\n",
    " ",
    "con",
    "x" * 300,
    ".",
    "_hidden",
    ":",
]


def test_everything_once(tmp_path):
    log = recorded_log([[arrival(n) for n in range(5)], [arrival(5)], [arrival(n) for n in range(6, 20)]])
    storage = Storage(str(tmp_path))
    assert archive(storage, log, 13).archived == {0: 13}
    assert archive(storage, log, 20).archived == {0: 20}
    assert archived(storage) == log.events(0, 20)
    assert archive(storage, log, 20).version == 2, "nothing new, no new manifest"


def test_a_commit_takes_no_more_than_it_may(tmp_path):
    log = recorded_log([[arrival(n) for n in range(10)]])
    manifest = archive(Storage(str(tmp_path)), log, 10, commit_events=3)
    assert [file.spans[0] for file in manifest.files] == [(0, 3), (3, 6), (6, 9), (9, 10)]


def test_names_that_are_hostile_to_paths(tmp_path):
    pairs = [(one, other) for one in HOSTILE for other in ("c", one)]
    log = recorded_log([[arrival(n, *pair) for n, pair in enumerate(pairs)]])
    storage = Storage(str(tmp_path / "archive"))
    manifest = archive(storage, log, len(pairs))
    assert archived(storage) == log.events(0, len(pairs))
    assert {(file.namespace, file.channel) for file in manifest.files} == set(pairs)
    assert len(manifest.files) == len(pairs)
    assert [each.name for each in tmp_path.iterdir()] == ["archive"]
    assert all(len(part) < 256 for file in manifest.files for part in file.path.split("/"))


def test_days_are_those_of_utc(tmp_path):
    """A clock that was set back puts a later position into an earlier day."""
    times = [10 * DAY - 1, 10 * DAY, 9 * DAY, 20_000 * DAY + 5]
    log = recorded_log([[arrival(n)] for n in range(4)], times)
    storage = Storage(str(tmp_path))
    manifest = archive(storage, log, 4)
    assert {file.date: file.rows for file in manifest.files} == {
        "1970-01-10": 2, "1970-01-11": 1, "2024-10-04": 1,
    }  # fmt: skip
    assert archived(storage) == log.events(0, 4)


def test_what_the_manifest_says_of_a_file(tmp_path):
    events = [
        arrival(0, time="2026-01-01T00:00:00.123Z", gtid="1"),
        arrival(1, time="1969-12-31T23:59:59.999Z"),
        arrival(2, gtid="2", Odd="x"),
    ]
    (file,) = archive(Storage(str(tmp_path)), recorded_log([events], [7]), 3).files
    assert (file.rows, file.spans, file.published) == (3, {0: (0, 3)}, (7, 7))
    assert file.happened == (-1, 1767225600123)
    assert (file.extensions, file.more_extensions) == (("gtid",), True)
    assert file.bytes == (tmp_path / file.path).stat().st_size


def test_partitions_share_a_file(tmp_path):
    batches = [to_batch([arrival(partition)], position_at(partition, 4), 5) for partition in (0, 2)]
    log = recorded_log([])
    log.batches = batches
    storage = Storage(str(tmp_path))
    manifest = archive(storage, log, LogPosition.at(position_at(0, 5), position_at(2, 5)))
    assert manifest.archived == {0: 5, 2: position_at(2, 5)}
    assert [recorded.position for recorded in archived(storage)] == [4, position_at(2, 4)]


def test_columns_that_are_searched(tmp_path):
    log = recorded_log([[arrival(n, subject=f"s{n}", gtid=f"0-{n}") for n in range(100)]])
    (file,) = archive(Storage(str(tmp_path)), log, 100).files
    metadata = pq.read_metadata(tmp_path / file.path)
    group = metadata.row_group(0)
    columns = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
    for name in ("id", "source", "type", "subject", "ce_gtid"):
        assert columns[name].bloom_filter_offset is not None
    for name in ("position", "publish_time", "event_time", "id", "subject", "ce_gtid"):
        assert columns[name].has_column_index
        assert columns[name].statistics is not None
    assert columns["position"].statistics.min == 0
    assert columns["data"].compression == "ZSTD"
    assert columns["data"].statistics is None, "the largest data would stand in the file three times"


def test_another_logs_archive_is_refused(tmp_path):
    storage = Storage(str(tmp_path))
    archive(storage, recorded_log([[arrival(n) for n in range(9)]]), 9)
    with pytest.raises(ArchiveRefused, match="up to position 9, and the log ends at 5"):
        archive(storage, recorded_log([[arrival(n) for n in range(5)]]), 5)


def test_a_log_that_has_lost_its_beginning(tmp_path):
    log = recorded_log([[arrival(n) for n in range(9)]])
    storage = Storage(str(tmp_path))
    archive(storage, log, 3)
    log.first = 6
    manifest = archive(storage, log, 9)
    assert (manifest.archived, manifest.lost) == ({0: 9}, {0: 3})
    assert [recorded.position for recorded in archived(storage)] == [0, 1, 2, 6, 7, 8]


def test_many_channels_don_t_take_many_open_files(tmp_path, monkeypatch):
    monkeypatch.setattr("headrace.eventlog.archive.archiver._MOST_FILES", 3)
    log = recorded_log([[arrival(n, channel=f"c{n % 7}") for n in range(70)]])
    storage = Storage(str(tmp_path))
    archive(storage, log, 70)
    assert archived(storage) == log.events(0, 70)


def test_row_groups_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("headrace.eventlog.archive.event_files.GROUP_BYTES", 10_000)
    monkeypatch.setattr("headrace.eventlog.archive.event_files._SLICE_ROWS", 4)
    large = [Arrival(Event(dict(arrival(n).event.attributes), bytes(1000)), "n", "c") for n in range(100)]
    log = recorded_log([large])
    storage = Storage(str(tmp_path))
    (file,) = archive(storage, log, 100).files
    metadata = pq.read_metadata(tmp_path / file.path)
    assert metadata.num_row_groups > 7
    assert archived(storage) == log.events(0, 100)
    assert 1000 < file.largest < 2000


texts = st.text(max_size=4)


@settings(max_examples=25)
@given(st.lists(st.tuples(texts, texts, st.dictionaries(st.sampled_from(["a", "b", "Ab", "ab"]), texts | st.booleans() | st.integers(-9, 9), max_size=3),
                          st.none() | st.binary(max_size=9), st.integers(0, 3 * DAY)), min_size=1, max_size=12), st.integers(1, 5))  # fmt: skip
def test_any_events(rows, commit):
    arrivals = [
        Arrival(Event(dict(arrival(n).event.attributes) | extensions, data), namespace, channel)
        for n, (namespace, channel, extensions, data, _) in enumerate(rows)
    ]
    log = recorded_log([[each] for each in arrivals], [row[-1] for row in rows])
    with memory_folder() as folder:
        storage = Storage(str(folder))
        archive(storage, log, len(rows), commit_events=commit)
        assert archived(storage) == log.events(0, len(rows))


def test_a_partitions_folder_is_for_people():
    folder = ChannelDay("team", "order_s", date(2026, 1, 2)).folder
    assert folder == "events/namespace=team/channel=order%5Fs/date=2026-01-02"

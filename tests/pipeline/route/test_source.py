"""The planning of batches, without a JVM."""

import pickle
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StructType

from headrace.errors import VersionDiffers
from headrace.eventlog.local.segments import list_segments
from headrace.eventlog.local.writer import SegmentWriter
from headrace.events.positions import LogPosition, position_at
from headrace.pipeline.route.offsets import WARM_UP_TICKS
from headrace.pipeline.route.planner import _deal, _limited
from headrace.pipeline.route.poison import IsolatedEvent
from headrace.pipeline.route.source import LogSource
from headrace.pipeline.spark.cluster import own_version


@pytest.fixture
def reader(deployment):
    options = {
        "log": str(deployment.folder / "log"),
        "store": deployment.store_url,
        "rosters": str(deployment.folder / "rosters"),
        "begin": '{"0":2}',
        "max_events": "10",
        "max_bytes": "20000",
        "min_per_task": "3",
        "tasks": "2",
        "poll": "0.001",
        "tick": "1000",
        "matching": "{}",
        "suspect": str(deployment.folder / "suspect.json"),
        "beat": str(deployment.folder / "planner.beat"),
        "version": own_version(),
    }
    return LogSource(options).streamReader(StructType())


def _at(position: int, tick: int = WARM_UP_TICKS) -> dict[str, Any]:
    return {"cut": LogPosition.at(position).to_json(), "tick": tick}


def test_it_begins_where_the_outbox_ends(reader):
    assert reader.initialOffset() == _at(2, 0)


def test_the_first_batches_are_ticks(reader):
    offset = reader.initialOffset()
    for _ in range(WARM_UP_TICKS):
        following = reader.latestOffset(offset, None)
        assert following == _at(2, offset["tick"] + 1)
        offset = following
    assert reader.latestOffset(offset, None) == offset  # and then it waits


def test_a_batch_ends_at_the_end_of_the_log_or_at_its_limit(reader, deployment):
    deployment.append(*"abcdef")
    assert reader.latestOffset(_at(2), None) == _at(6)
    deployment.append(*"abcdefghijkl")
    assert reader.latestOffset(_at(2), None) == _at(12)


def test_a_batch_ends_at_its_limit_of_bytes_between_two_commits(reader, deployment):
    small = [deployment.append_data("x") for _ in range(3)]
    for _ in range(3):
        deployment.append_data("x" * 12_000)
    ends = [small[2] + 1]  # from 2 on: one small one, then large ones, of which 20,000 bytes hold one
    while ends[-1] < deployment.writer.end:
        ends.append(LogPosition.from_json(reader.latestOffset(_at(ends[-1]), None)["cut"])[0])
    assert ends == [3, 4, 5, 6]
    assert reader.latestOffset(_at(1), None) == _at(4)
    deployment.append_data("x" * 100_000)
    assert reader.latestOffset(_at(6), None) == _at(7), "one commit at least"


def test_what_the_log_has_removed_is_a_batch_of_its_own(tmp_path, reader, deployment):
    """Workers set it aside; the outbox had a hole there, or the cursor is older than the log."""
    deployment.writer.close()
    deployment.writer = SegmentWriter(tmp_path / "log", 1)  # a segment per commit
    for each in "abcdefgh":
        deployment.append(each)
    for segment in list_segments(tmp_path / "log")[:6]:
        segment.path.unlink()
    end = reader.latestOffset(_at(2), None)
    assert end == _at(6), "where the log begins now"
    rows = [
        row
        for partition in reader.partitions(_at(2), end)
        for batch in reader.read(partition)
        for row in batch.to_pylist()
    ]
    assert [(row["position"], row["until"]) for row in rows if row["aside"] is None] == [(2, 6)]
    assert [(row["position"], row["until"]) for row in rows if row["aside"]] == [(2, 6)]
    assert reader.latestOffset(end, None) == _at(8)


@pytest.mark.parametrize(
    ("end", "ranges"),
    [(2, [(0, 0)]), (3, [(2, 3)]), (7, [(2, 7)]), (8, [(2, 5), (5, 8)]), (12, [(2, 7), (7, 12)])],
)
def test_a_batch_is_cut_into_tasks_without_gaps(reader, deployment, end, ranges):
    deployment.append(*"abcdefghijkl")
    tasks = [partition.value for partition in reader.partitions(_at(2), _at(end))]
    assert [task.ranges for task in tasks] == [[each] for each in ranges]


def test_subscriptions_are_read_after_the_end_of_the_batch(reader, deployment):
    deployment.append(*"abc")
    end = reader.latestOffset(_at(2), None)
    late = deployment.subscribe()
    task = reader.partitions(_at(2), end)[0].value
    assert late.id in Path(task.roster).read_text()


def test_workers_get_a_copy_that_matches_the_range(reader, deployment):
    deployment.append(*"abc")
    partition = reader.partitions(_at(2), _at(3))[0]
    copy = pickle.loads(pickle.dumps(reader))
    rows = [row for batch in copy.read(partition) for row in batch.to_pylist()]
    assert [(row["position"], row["until"]) for row in rows] == [(2, 3)]


def test_a_machine_with_another_version_refuses_its_tasks(reader, deployment):
    deployment.append(*"abcabc")
    (partition,) = reader.partitions(_at(2), _at(4))
    reader._options["version"] = "0.0.0.of-the-driver"
    with pytest.raises(VersionDiffers, match="install the same on every machine"):
        reader.read(partition)


def test_an_idle_stream_is_kept_at(deployment, reader):
    reader._options["tick"] = "0.05"
    reader.latestOffset(_at(2), None)
    ticks = {reader.latestOffset(_at(2), None)["tick"] for _ in range(3)}
    assert ticks == {WARM_UP_TICKS + 1}


def test_lanes_share_a_batch_and_its_tasks():
    other = position_at(1, 0)
    end = LogPosition.at(30, other + 10)
    assert _limited(LogPosition(), end, 20) == LogPosition.at(15, other + 5)
    assert _limited(LogPosition(), end, 40) == end
    assert _limited(LogPosition(), LogPosition.at(1000, other + 1), 10) == LogPosition.at(9, other + 1), (
        "none is left out"
    )
    ranges = [(0, 15), (other, other + 5)]
    assert _deal(ranges, 1) == [ranges]
    assert _deal(ranges, 2) == [[(0, 10)], [(10, 15), (other, other + 5)]]


def test_lanes_take_turns_where_there_is_less_than_an_event_for_each():
    ends = [position_at(partition, 5) for partition in range(3)]
    batches = [_limited(LogPosition(), LogPosition.at(*ends), 1, turn) for turn in range(3)]
    assert batches == [LogPosition.at(position_at(partition, 1)) for partition in range(3)]
    assert _limited(LogPosition(), LogPosition.at(*ends), 2, 2) == LogPosition.at(position_at(2, 1), 1)


def test_who_is_alone_in_a_batch_is_noted(reader, deployment):
    suspect = IsolatedEvent(deployment.folder / "suspect.json")
    deployment.append(*"abcabc")
    reader.partitions(_at(2), _at(3))
    assert suspect.position() is None, "nobody is suspected while batches have their full size"
    reader._options["max_events"] = "1"
    cautious: Any = LogSource(reader._options).streamReader(StructType())
    assert cautious.latestOffset(_at(2, 0), None) == _at(2, 1), (
        "workers have to be well before an event is blamed"
    )
    cautious.partitions(_at(2), cautious.latestOffset(_at(2), None))
    assert suspect.position() == 2
    cautious.partitions(_at(3), _at(3))
    assert suspect.position() is None, "a tick has no event"


def _pairs(reader, partitions) -> list[tuple[int, str]]:
    rows = [row for partition in partitions for batch in reader.read(partition) for row in batch.to_pylist()]
    return [(row["position"], row["subscription"]) for row in rows if row["subscription"]]


def test_a_batch_that_is_repeated_has_the_same_answer(reader, deployment):
    """By a task that is tried again, with its version of the subscriptions; by a new query, with a later one."""
    first, second = deployment.subscribe(), deployment.subscribe({"exact": {"type": "b"}})
    deployment.append(*"abcabc")
    begin, end = _at(2), _at(6)
    partitions = reader.partitions(begin, end)
    answer = _pairs(reader, partitions)
    assert sorted(answer) == sorted([*((each, first.id) for each in range(2, 6)), (4, second.id)])

    deployment.store.delete(first.id, lambda: LogPosition.at(deployment.writer.end))
    third = deployment.subscribe()
    deployment.append(*"abc")
    later = reader.partitions(_at(6), _at(9))
    assert {subscription for _, subscription in _pairs(reader, later)} == {second.id, third.id}
    assert _pairs(reader, partitions) == answer

    again = LogSource(reader._options).streamReader(StructType())
    repeated = again.partitions(begin, end)
    assert repeated[0].value.roster != partitions[0].value.roster, "it has another version"
    assert sorted(_pairs(again, repeated)) == sorted(answer)

"""The planning of batches, without a JVM."""

import pickle
from pathlib import Path

import pytest
from pyspark.sql.types import StructType

from headrace.pipeline.source import WARM_UP_TICKS, LogSource


@pytest.fixture
def reader(deployment):
    options = {
        "log": str(deployment.folder / "log"),
        "store": deployment.store_url,
        "rosters": str(deployment.folder / "rosters"),
        "begin": "2",
        "max_events": "10",
        "max_bytes": "20000",
        "min_per_task": "3",
        "tasks": "2",
        "poll": "0.001",
        "tick": "1000",
        "matching": "{}",
    }
    return LogSource(options).streamReader(StructType())


def _warm(position: int) -> dict[str, int]:
    return {"position": position, "tick": WARM_UP_TICKS}


def test_it_begins_where_the_outbox_ends(reader):
    assert reader.initialOffset() == {"position": 2, "tick": 0}


def test_the_first_batches_are_ticks(reader):
    offset = reader.initialOffset()
    for _ in range(WARM_UP_TICKS):
        following = reader.latestOffset(offset, None)
        assert following == {"position": 2, "tick": offset["tick"] + 1}
        offset = following
    assert reader.latestOffset(offset, None) == offset  # and then it waits


def test_a_batch_ends_at_the_end_of_the_log_or_at_its_limit(reader, deployment):
    deployment.append(*"abcdef")
    assert reader.latestOffset(_warm(2), None)["position"] == 6
    deployment.append(*"abcdefghijkl")
    assert reader.latestOffset(_warm(2), None)["position"] == 12


def test_a_batch_ends_at_its_limit_of_bytes_between_two_commits(reader, deployment):
    small = [deployment.append_data("x") for _ in range(3)]
    for _ in range(3):
        deployment.append_data("x" * 12_000)
    ends = [small[2] + 1]  # from 2 on: one small one, then large ones, of which 20,000 bytes hold one
    while ends[-1] < deployment.writer.end:
        ends.append(reader.latestOffset(_warm(ends[-1]), None)["position"])
    assert ends == [3, 4, 5, 6]
    assert reader.latestOffset(_warm(1), None)["position"] == 4
    deployment.append_data("x" * 100_000)
    assert reader.latestOffset(_warm(6), None)["position"] == 7, "one commit at least"


@pytest.mark.parametrize(
    ("end", "ranges"),
    [(2, [(2, 2)]), (3, [(2, 3)]), (7, [(2, 7)]), (8, [(2, 5), (5, 8)]), (12, [(2, 7), (7, 12)])],
)
def test_a_batch_is_cut_into_tasks_without_gaps(reader, deployment, end, ranges):
    deployment.append(*"abcdefghijkl")
    pointers = [partition.value for partition in reader.partitions(_warm(2), _warm(end))]
    assert [(pointer.start, pointer.end) for pointer in pointers] == ranges


def test_subscriptions_are_read_after_the_end_of_the_batch(reader, deployment):
    deployment.append(*"abc")
    end = reader.latestOffset(_warm(2), None)
    late = deployment.subscribe()
    pointer = reader.partitions(_warm(2), end)[0].value
    assert late.id in Path(pointer.roster).read_text()


def test_workers_get_a_copy_that_emits_the_pointer(reader, deployment):
    deployment.append(*"abc")
    partition = reader.partitions(_warm(2), _warm(3))[0]
    copy = pickle.loads(pickle.dumps(reader))
    rows = [row for batch in copy.read(partition) for row in batch.to_pylist()]
    assert [(row["start"], row["end"]) for row in rows] == [(2, 3)]


def test_an_idle_stream_is_kept_warm(deployment, reader):
    reader._options["tick"] = "0.05"
    reader.latestOffset(_warm(2), None)
    ticks = {reader.latestOffset(_warm(2), None)["tick"] for _ in range(3)}
    assert ticks == {WARM_UP_TICKS + 1}

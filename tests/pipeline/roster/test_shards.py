"""An index in parts finds what the whole one finds."""

import subprocess
import sys

import msgspec
import pyarrow as pa
import pytest

from headrace.errors import OutboxGap
from headrace.events.positions import LogPosition
from headrace.matching.settings import MatchingSettings
from headrace.pipeline.roster.reader import RosterReader
from headrace.pipeline.roster.shards import ShardedRosters, shard_of
from headrace.pipeline.route.plan import covered_range, note_rows
from headrace.pipeline.route.worker import match_ranges
from headrace.subscriptions.subscription import parse_subscription


def _rosters(deployment, shards):
    matching = MatchingSettings(shards=shards)
    folder = deployment.folder / f"rosters-{shards}"
    return ShardedRosters(folder, deployment.store, deployment.log.end, matching)


def _matched(deployment, rosters, start, end):
    """What workers make of a range, one after the other in this process: each goes from shard to shard."""
    log = str(deployment.folder / "log")
    batches = [
        batch
        for roster in rosters.current(LogPosition.at(start))
        for batch in match_ranges(log, str(roster), [(start, end)])
    ]
    rows = [row for batch in batches for row in batch.to_pylist()]
    return sorted((row["position"], row["subscription"]) for row in rows if row["until"] is None)


@pytest.mark.parametrize("few", [3, 10_000], ids=["bases", "changes only"])
def test_shards_find_what_the_whole_index_finds(deployment, monkeypatch, few):
    """Through creations, deletions and new bases."""
    monkeypatch.setattr("headrace.pipeline.roster.writer._FEW_CHANGES", few)
    whole, parts = _rosters(deployment, 1), _rosters(deployment, 3)
    made = []
    for step in range(6):
        made += [deployment.subscribe({"exact": {"type": f"t{n % 4}"}}) for n in range(8)]
        made += [deployment.subscribe({"cel": f"ce.id.endsWith('{step}')"}), deployment.subscribe()]
        start = deployment.append(*(f"t{n % 5}" for n in range(20)))
        for gone in made[step * 3 : step * 3 + 2]:
            deployment.store.delete(gone.id, lambda: LogPosition.at(deployment.writer.end))
        deployment.append("t0", "t1")
        end = deployment.writer.end
        expected = _matched(deployment, whole, start, end)
        assert len(expected) > 20
        assert _matched(deployment, parts, start, end) == expected
        for writer in (*whole._writers, *parts._writers):
            if writer._build is not None:
                writer._build.wait()
    bases = [each.name for each in (deployment.folder / "rosters-3").glob("*/*.index")]
    assert bool(bases) == (few == 3)
    for shards in (1, 3):
        again = _rosters(deployment, shards)
        assert _matched(deployment, again, start, end) == expected, "after a restart"


def test_each_subscription_is_in_one_shard(deployment):
    made = {deployment.subscribe().id for _ in range(40)}
    found = [RosterReader().matcher(each).ids() for each in _rosters(deployment, 4).current(LogPosition())]
    assert sum(map(len, found)) == 40
    assert set().union(*found) == made
    assert all(shard_of(each, 4) == shard for shard, ids in enumerate(found) for each in ids)


def test_a_change_behind_one_shard_s_back_is_seen_at_the_next_look(deployment):
    """Somebody subscribes after the first shard was read and before the second is."""
    rosters = _rosters(deployment, 2)
    rosters.current(LogPosition())
    late: list[str] = []

    def subscribe_once(routed, current=rosters._writers[0].current):
        path = current(routed)
        if not late:
            late.extend(deployment.subscribe().id for _ in range(8))
        return path

    rosters._writers[0].current = subscribe_once
    rosters.current(LogPosition())
    found = [RosterReader().matcher(each).ids() for each in rosters.current(LogPosition())]
    assert set().union(*found) == set(late)


def test_another_number_of_shards_leaves_nothing_of_the_old_one(deployment, tmp_path):
    deployment.subscribe()
    for shards in (3, 2, 1):
        matching = MatchingSettings(shards=shards)
        ShardedRosters(tmp_path / "r", deployment.store, deployment.log.end, matching).current(LogPosition())
        assert len(list((tmp_path / "r").iterdir())) == shards


def test_a_range_that_a_shard_left_out_is_not_covered():
    notes = [note_rows([each]) for each in [(0, 4), (4, 9), (0, 4), (4, 9)]]
    assert covered_range(pa.Table.from_batches(notes), 2) == (LogPosition(), LogPosition.at(9))
    with pytest.raises(OutboxGap):
        covered_range(pa.Table.from_batches(notes[:-1]), 2)


_GROWTH = """
import sys
from pathlib import Path
from headrace.pipeline.roster.reader import RosterReader

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1])

before = resident()
matcher = RosterReader().matcher(Path(sys.argv[1]))
"nobody" in matcher
print(resident() - before)
"""


def test_a_worker_needs_room_for_its_shard_only(deployment):
    count, shards = 6000, 4
    document = {"sink": "http://sink/", "protocol": "HTTP"}
    filters = ([{"exact": {"type": f"com.example.{number}"}}] for number in range(count))
    proposals = [parse_subscription(document | {"filters": each}) for each in filters]
    deployment.store.create_many(proposals, LogPosition())

    def growth(path):
        answer = subprocess.run([sys.executable, "-c", _GROWTH, path], capture_output=True, check=True)
        return int(answer.stdout)

    (whole,) = _rosters(deployment, 1).current(LogPosition())
    parts = _rosters(deployment, shards).current(LogPosition())
    sizes = [msgspec.json.decode(each.read_bytes())["base"] for each in parts]
    assert all(sizes), "each has a base"
    part = growth(parts[0])
    assert growth(whole) / part > shards * 0.6

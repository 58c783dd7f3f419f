"""Matching in a worker, without a JVM."""

import pyarrow as pa

from headrace.pipeline.roster import RosterWriter
from headrace.pipeline.worker import match_pointers


def _run(deployment, start: int, end: int) -> list[tuple[int, str | None, int | None]]:
    roster = RosterWriter(deployment.folder / "rosters", deployment.store, deployment.log.end).current(0)
    pointer = {"log": str(deployment.folder / "log"), "roster": str(roster), "start": start, "end": end}
    rows = [
        row for batch in match_pointers([pa.RecordBatch.from_pylist([pointer])]) for row in batch.to_pylist()
    ]
    return [(row["position"], row["subscription"], row["until"]) for row in rows]


def test_pairs_and_the_note_of_what_was_covered(deployment):
    order = deployment.subscribe({"exact": {"type": "order"}})
    deployment.append("order", "other", "order")
    deployment.append("order")
    assert _run(deployment, 0, 4) == [
        (0, order.id, None),
        (2, order.id, None),
        (3, order.id, None),
        (0, None, 4),
    ]
    assert _run(deployment, 1, 3) == [(2, order.id, None), (1, None, 3)]


def test_a_range_without_matches_is_covered_too(deployment):
    deployment.append("a", "b")
    assert _run(deployment, 0, 2) == [(0, None, 2)]


def test_a_tick_covers_nothing(deployment):
    assert _run(deployment, 0, 0) == [(0, None, 0)]

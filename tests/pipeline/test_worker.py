"""Matching in a worker, without a JVM."""

from typing import Any

import pyarrow as pa

from headrace.events.positions import Cut
from headrace.pipeline.roster import RosterWriter
from headrace.pipeline.worker import match_pointers

LOOPS = {"cel": "data.all(a, data.all(b, data.all(c, a == b && b == c)))"}


def _run(deployment, start: int, end: int) -> list[tuple[int, str | None, int | None]]:
    rows = _rows(deployment, start, end)
    assert all(row["overrun"] is None for row in rows)
    return [(row["position"], row["subscription"], row["until"]) for row in rows]


def _rows(deployment, start: int, end: int) -> list[dict[str, Any]]:
    roster = RosterWriter(deployment.folder / "rosters", deployment.store, deployment.log.end).current(Cut())
    pointer = {"log": str(deployment.folder / "log"), "roster": str(roster), "start": start, "end": end}
    return [
        row for batch in match_pointers([pa.RecordBatch.from_pylist([pointer])]) for row in batch.to_pylist()
    ]


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


def test_a_filter_that_costs_too_much_is_told_of(deployment):
    dear = deployment.subscribe(LOOPS).id
    deployment.append_data([1] * 60, [1] * 3, [1] * 60)
    match, overrun, note = _rows(deployment, 0, 3)
    assert match == {"position": 1, "subscription": dear, "until": None, "overrun": None}
    assert "budget" in overrun["overrun"].pop("reason")
    assert overrun == {"position": 2, "subscription": dear, "until": None, "overrun": {"times": 2}}
    assert note == {"position": 0, "subscription": None, "until": 3, "overrun": None}
    assert _run(deployment, 1, 2) == [(1, dear, None), (1, None, 2)], "it is told of once"


def test_a_range_of_nothing_but_overruns(deployment):
    dear = deployment.subscribe(LOOPS).id
    deployment.append_data([1] * 60)
    overrun, note = _rows(deployment, 0, 1)
    assert (overrun["subscription"], overrun["position"], overrun["until"]) == (dear, 0, None)
    assert (note["position"], note["until"], note["overrun"]) == (0, 1, None)

"""Matching in a worker, without a JVM."""

from typing import Any

import pytest

from headrace.events.positions import LogPosition
from headrace.matching import Matcher
from headrace.pipeline.roster.writer import RosterWriter
from headrace.pipeline.route.worker import match_ranges
from headrace.subscriptions.channels.name import ChannelName

LOOPS = {"cel": "data.all(a, data.all(b, data.all(c, a == b && b == c)))"}


def _run(deployment, *ranges: tuple[int, int]) -> list[tuple[int, str | None, int | None]]:
    rows = _rows(deployment, *ranges)
    assert all(row["overrun"] is None and row["aside"] is None for row in rows)
    return [(row["position"], row["subscription"], row["until"]) for row in rows]


def _rows(deployment, *ranges: tuple[int, int]) -> list[dict[str, Any]]:
    roster = RosterWriter(deployment.folder / "rosters", deployment.store, deployment.log.end).current(
        LogPosition()
    )
    batches = match_ranges(str(deployment.folder / "log"), str(roster), ranges)
    return [row for batch in batches for row in batch.to_pylist()]


def test_pairs_and_the_note_of_what_was_covered(deployment):
    order = deployment.subscribe({"exact": {"type": "order"}})
    deployment.append("order", "other", "order")
    deployment.append("order")
    assert _run(deployment, (0, 4)) == [
        (0, order.id, None),
        (2, order.id, None),
        (3, order.id, None),
        (0, None, 4),
    ]
    assert _run(deployment, (1, 3)) == [(2, order.id, None), (1, None, 3)]


def test_ranges_of_a_task_are_matched_together(deployment, monkeypatch):
    calls = []
    match = Matcher.match_pairs

    def noted(self, events):
        calls.append(events.num_rows)
        return match(self, events)

    monkeypatch.setattr(Matcher, "match_pairs", noted)
    order = deployment.subscribe({"exact": {"type": "order"}})
    deployment.append("order", "other", "order", "order")
    assert _run(deployment, (0, 1), (2, 3)) == [
        (0, order.id, None),
        (2, order.id, None),
        (0, None, 1),
        (2, None, 3),
    ]
    assert calls == [2]


def test_a_range_without_matches_is_covered_too(deployment):
    deployment.append("a", "b")
    assert _run(deployment, (0, 2)) == [(0, None, 2)]


def test_a_tick_covers_nothing(deployment):
    assert _run(deployment, (0, 0)) == [(0, None, 0)]


def test_a_filter_that_costs_too_much_is_told_of(deployment):
    dear = deployment.subscribe(LOOPS).id
    deployment.append_data([1] * 60, [1] * 3, [1] * 60)
    match, overrun, note = _rows(deployment, (0, 3))
    assert match == {"position": 1, "subscription": dear, "until": None, "overrun": None, "aside": None}
    assert "budget" in overrun["overrun"].pop("reason")
    assert overrun == {
        "position": 2,
        "subscription": dear,
        "until": None,
        "overrun": {"times": 2},
        "aside": None,
    }
    assert note == {"position": 0, "subscription": None, "until": 3, "overrun": None, "aside": None}
    assert _run(deployment, (1, 2)) == [(1, dear, None), (1, None, 2)], "it is told of once"


def test_a_range_of_nothing_but_overruns(deployment):
    dear = deployment.subscribe(LOOPS).id
    deployment.append_data([1] * 60)
    overrun, note = _rows(deployment, (0, 1))
    assert (overrun["subscription"], overrun["position"], overrun["until"]) == (dear, 0, None)
    assert (note["position"], note["until"], note["overrun"]) == (0, 1, None)


def _asides(rows: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return [(row["aside"]["kind"], row["position"], row["until"]) for row in rows if row["aside"]]


def _planned(rows: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [
        (row["position"], row["subscription"])
        for row in rows
        if row["subscription"] and not row["aside"] and not row["overrun"]
    ]


def test_an_event_that_breaks_the_matcher_is_found_and_set_aside(deployment, monkeypatch):
    everyone = deployment.subscribe().id
    deployment.append(*(["t"] * 100))
    match_pairs = Matcher.match_pairs

    def break_on_some(self, batch):
        if set(batch["position"].to_pylist()) & {17, 18, 63}:
            raise ZeroDivisionError("a bug of the matcher")
        return match_pairs(self, batch)

    monkeypatch.setattr(Matcher, "match_pairs", break_on_some)
    rows = _rows(deployment, (0, 100))
    assert _asides(rows) == [("event", 17, 18), ("event", 18, 19), ("event", 63, 64)]
    assert _planned(rows) == [(each, everyone) for each in range(100) if each not in (17, 18, 63)]
    assert (rows[-1]["position"], rows[-1]["until"]) == (0, 100)
    aside = next(row["aside"] for row in rows if row["aside"])
    assert (aside["namespace"], aside["channel"]) == ("default", "default")
    assert "a bug of the matcher" in aside["reason"]


def test_no_event_is_blamed_for_memory_that_is_used_up(deployment, monkeypatch):
    deployment.append("a", "b")

    def no_memory(*_):
        raise MemoryError

    monkeypatch.setattr(Matcher, "match_pairs", no_memory)
    with pytest.raises(MemoryError):
        _rows(deployment, (0, 2))


def test_damaged_positions_are_set_aside_and_the_others_matched(deployment):
    everyone = deployment.subscribe().id
    for _ in range(3):
        deployment.append("a", "b")
    path = next((deployment.folder / "log").glob("*.seg"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    rows = _rows(deployment, (0, 6))
    assert _asides(rows) == [("damage", 2, 4)]
    assert _planned(rows) == [(each, everyone) for each in (0, 1, 4, 5)]
    assert (rows[-1]["position"], rows[-1]["until"]) == (0, 6)
    assert _asides(_rows(deployment, (3, 6))) == [("damage", 3, 4)]


def test_what_the_log_removed_is_set_aside_and_the_rest_matched(deployment):
    """Kafka's retention knows nothing of what is still to be routed."""
    everyone = deployment.subscribe().id
    deployment.writer._segment_bytes = 1
    for _ in range(3):
        deployment.append("a", "b")
    min((deployment.folder / "log").glob("*.seg")).unlink()
    rows = _rows(deployment, (0, 6))
    assert _asides(rows) == [("damage", 0, 2)]
    assert _planned(rows) == [(each, everyone) for each in range(2, 6)]
    assert (rows[-1]["position"], rows[-1]["until"]) == (0, 6)


def test_a_filter_that_cannot_be_compiled_is_set_aside_and_the_others_match(deployment):
    broken, good = deployment.subscribe_unchecked({"of a later version": {}}), deployment.subscribe()
    deployment.append("a")
    rows = _rows(deployment, (0, 1))
    assert _planned(rows) == [(0, good.id)]
    [aside] = [row for row in rows if row["aside"]]
    assert (aside["aside"]["kind"], aside["subscription"], aside["position"]) == ("filter", broken.id, 0)
    assert "of a later version" in aside["aside"]["reason"]
    assert _asides(_rows(deployment, (0, 1))) == [], "it is told of once"


def test_a_filter_hears_of_no_other_channel_whatever_it_asks_for(deployment):
    """Namespaces are tenants: routing picks subscriptions by the event's channel before any filter is asked."""
    for namespace in ("shop", "bank"):
        deployment.store.create_channel(ChannelName(namespace, "orders"))
    for spying in (
        {"cel": "tenant == 'bank'"},
        {"cel": "tenant == 'bank' || collection == 'orders' || true"},
        {"not": {"exact": {"type": "nothing"}}},
        {"streamer": [{"field": "tenant", "op": "==", "value": "bank"}]},
    ):
        deployment.subscribe(spying, channel="shop/orders")
    all_of_shop = deployment.subscribe(channel="shop/orders")
    deployment.append("secret", "secret", channel=("bank", "orders"))
    assert _run(deployment, (0, 2)) == [(0, None, 2)]
    deployment.append("own", channel=("shop", "orders"))
    assert (2, all_of_shop.id, None) in _run(deployment, (2, 3))

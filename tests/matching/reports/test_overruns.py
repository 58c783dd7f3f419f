"""Filters that cost too much don't match, and somebody hears of it."""

import json

from headrace.events.batch import to_batch
from headrace.events.event import Event
from headrace.events.recorded import Arrival
from headrace.filters import compile_filter
from headrace.filters.values import maps
from headrace.matching import Matcher, Scope
from headrace.matching.reports.overruns import Overruns
from headrace.matching.settings import CelSettings

LOOPS = compile_filter({"cel": "data.all(a, data.all(b, data.all(c, a == b && b == c)))"})


def event(count):
    return Event(
        {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}, json.dumps([1] * count).encode()
    )


def test_a_filter_over_its_budget_does_not_match_and_is_told_of():
    matcher = Matcher()
    matcher.add("dear", LOOPS)
    matcher.add("also", LOOPS)
    matcher.add("cheap", compile_filter([]))
    assert matcher.match_batch([event(5), event(60)]) == [["dear", "also", "cheap"], ["cheap"]]
    overruns = matcher.take_overruns()
    assert [each.subscription for each in overruns] == ["dear", "also"]
    assert "budget" in overruns[0].reason
    assert overruns[0].times == 1
    assert matcher.take_overruns() == []


def test_a_mistake_of_the_evaluator_costs_one_filter_the_event_and_nobody_else(monkeypatch):
    matcher = Matcher()
    matcher.add("unlucky", compile_filter({"cel": "{1: true}[data[0]]"}))
    matcher.add("negated", compile_filter({"cel": "!{1: true}[data[0]]"}))
    matcher.add("other", compile_filter({"cel": "data.size() == 2"}))
    assert matcher.match(event(2)) == ["unlucky", "other"]

    def fail(*_):
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr(maps, "find", fail)
    assert matcher.match(event(2)) == ["other"]
    overruns = matcher.take_overruns()
    assert [each.subscription for each in overruns] == ["unlucky", "negated"]
    assert "a mistake of ours" in overruns[0].reason


def test_the_position_of_the_last_event_is_told():
    matcher = Matcher()
    matcher.add("dear", LOOPS, scope=Scope("n", "c"))
    rows = to_batch(
        [Arrival(event(60), "n", "c"), Arrival(event(3), "n", "c"), Arrival(event(60), "n", "c")], 7, 0
    )
    assert matcher.match_batch(rows) == [[], ["dear"], []]
    (overrun,) = matcher.take_overruns()
    assert (overrun.position, overrun.times) == (9, 2)


def test_what_only_takes_long_is_told_of_and_matches():
    matcher = Matcher(cel=CelSettings(evaluation_timeout=1e-9))
    matcher.add("slow", LOOPS)
    assert matcher.match(event(5)) == ["slow"]
    (overrun,) = matcher.take_overruns()
    assert "ms, more than 0 ms" in overrun.reason


def test_there_is_room_for_so_many(monkeypatch):
    monkeypatch.setattr("headrace.matching.reports.overruns._MOST", 2)
    overruns = Overruns()
    overruns.note("abc", "why", 1)
    assert [each.subscription for each in overruns.take()] == ["a", "b"]
    assert overruns.dropped == 1


def test_who_does_not_see_the_event_is_not_told_of():
    matcher = Matcher()
    matcher.add("later", LOOPS, scope=Scope("n", "c", created=100))
    matcher.add("gone", LOOPS, scope=Scope("n", "c"))
    matcher.add("here", LOOPS, scope=Scope("n", "c"))
    matcher.remove("gone")
    matcher.match_batch(to_batch([Arrival(event(60), "n", "c")], 7, 0))
    assert [each.subscription for each in matcher.take_overruns()] == ["here"]


LONG = Event(
    {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}, json.dumps({"v": "a" * 200_000}).encode()
)


def test_a_text_too_long_for_the_index_is_told_of_to_those_who_see_it():
    contains = compile_filter({"cel": 'data.v.contains("b")'})
    matcher = Matcher()
    matcher.add("later", contains, scope=Scope("n", "c", created=100))
    matcher.add("elsewhere", contains, scope=Scope("n", "d"))
    matcher.add("gone", contains, scope=Scope("n", "c"))
    matcher.add("here", contains, scope=Scope("n", "c"))
    matcher.add("other type", contains, scope=Scope("n", "c", types=("u",)))
    matcher.add("free", compile_filter({"cel": 'ce.type == "t" && !data.v.contains("c")'}))
    matcher.remove("gone")
    matcher.settle_down()
    matcher.match_batch(to_batch([Arrival(LONG, "n", "c"), Arrival(event(3), "n", "c")], 7, 0))
    overruns = matcher.take_overruns()
    assert [(each.subscription, each.position, each.times) for each in overruns] == [
        ("here", 7, 1),
        ("free", 7, 1),
    ]
    assert "budget" in overruns[0].reason


def test_of_very_many_a_sample_is_told_of(monkeypatch):
    monkeypatch.setattr("headrace.matching.search._MOST_TOLD", 5)
    matcher = Matcher()
    matcher.add_many((str(n), compile_filter({"cel": f'data.v.contains("b{n}")'})) for n in range(200))
    matcher.settle_down()
    told: set[str] = set()
    for _ in range(20):
        assert matcher.match(LONG) == []
        overruns = matcher.take_overruns()
        assert len(overruns) == 5
        told.update(each.subscription for each in overruns)
    assert len(told) > 20

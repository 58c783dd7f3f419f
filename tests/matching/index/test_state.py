"""Levels grow, join and are swapped while others read, and nothing of it is ever seen from outside."""

import random
import subprocess
import sys
import threading

import pytest

from headrace.events.event import Event
from headrace.filters import compile_filter
from headrace.matching import Matcher
from headrace.matching.index import state
from headrace.matching.index.state import Index


def event(kind):
    return Event({"specversion": "1.0", "id": "1", "source": "/s", "type": kind})


def filter_of(kind):
    return compile_filter({"exact": {"type": kind}})


def wait_for_joiner(matcher):
    joiner = matcher._index._joiner
    assert joiner is not None
    joiner.join()


def test_levels_stay_few_while_members_are_added_one_by_one():
    matcher = Matcher()
    for number in range(3000):
        matcher.add(str(number), filter_of(f"t{number % 7}"))
        if number % 50 == 0:
            assert str(number) in matcher.match(event(f"t{number % 7}"))
    matcher.settle_down()
    assert matcher.match(event("t3")) == [str(number) for number in range(3000) if number % 7 == 3]
    sizes = [layer.size for layer in matcher._index.view.layers]
    assert sum(sizes) == 3000
    assert len(sizes) <= 5


def test_many_at_once_are_one_level():
    matcher = Matcher()
    matcher.add_many((str(number), filter_of("t")) for number in range(2000))
    assert len(matcher.match(event("t"))) == 2000
    assert [layer.size for layer in matcher._index.view.layers] == [2000]


def test_one_more_is_a_small_level_of_its_own():
    matcher = Matcher()
    matcher.add_many((str(number), filter_of("t")) for number in range(2000))
    matcher.match(event("t"))
    base = matcher._index.view.layers[0]
    matcher.add("new", filter_of("u"))
    assert matcher.match(event("u")) == ["new"]
    assert matcher._index.view.layers[0] is base


def test_adding_and_matching_in_turn_builds_few_levels(monkeypatch):
    """The levels that are built are counted, also while they are joined."""
    matcher = Matcher()
    build = Index._layer
    built: list[int] = []

    def counted(self, first, last):
        built.append(last - first)
        return build(self, first, last)

    monkeypatch.setattr(Index, "_layer", counted)
    for number in range(1000):
        matcher.add(str(number), filter_of(f"t{number}"))
        assert matcher.match(event(f"t{number}")) == [str(number)]
        assert matcher.match(event(f"t{number - 1}")) == [str(number - 1)] * (number > 0)
    wait_for_joiner(matcher)
    assert 0 < len(built) < 50
    assert matcher._index.view.delta.first > 0


def test_what_is_asked_often_gets_a_level_though_nobody_is_added():
    matcher = Matcher()
    matcher.add("s", compile_filter({"cel": "data.a > 5"}))
    for _ in range(1000):
        matcher.match(event("t"))
    wait_for_joiner(matcher)
    assert [layer.size for layer in matcher._index.view.layers] == [1]


@pytest.mark.parametrize(
    "text", ["ce.type in ['a', 'b']", "ce.type == 'a' || data.n == 5", "data.n > 4", "data.n == 5.0"]
)
def test_who_is_in_no_level_yet_is_found_by_any_check(text):
    matcher = Matcher()
    matcher.add("s", compile_filter({"cel": text}))
    matcher.add("other", compile_filter({"cel": "ce.type == 'nobody'"}))
    assert matcher.match(Event({**event("a").attributes}, b'{"n": 5}')) == ["s"]
    assert matcher.match(Event({**event("c").attributes}, b'{"n": 4}')) == []
    assert matcher._index.view.layers == ()


def test_who_was_removed_leaves_the_book_at_last(monkeypatch):
    monkeypatch.setattr(state, "_WASTE", 10)
    matcher = Matcher()
    for number in range(200):
        matcher.add("same", filter_of(f"t{number}"))
        assert matcher.match(event(f"t{number}")) == ["same"]
    assert len(matcher) == 1
    assert len(matcher._index.members) < 30


def test_readers_see_every_change_at_once_and_never_a_half():
    """One thread moves subscriptions from one type to the next; at every moment each has exactly one type."""
    matcher = Matcher()
    names = [f"s{number}" for number in range(600)]
    matcher.add_many((name, compile_filter({"cel": "ce.type == 'a' || ce.type == 'b'"})) for name in names)
    wanted = sorted(names)
    stop = threading.Event()
    faults: list[object] = []

    def read():
        while not stop.is_set():
            try:
                found = matcher.match(event("a"))
                if sorted(found) != wanted:
                    faults.append(len(found))
            except Exception as error:  # noqa: BLE001 -- any at all is a fault
                faults.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    chance = random.Random(3)
    for number in range(1500):
        kind = "a" if number % 2 else "ab"
        matcher.add(chance.choice(names), compile_filter({"prefix": {"type": kind[0]}}))
    stop.set()
    for reader in readers:
        reader.join()
    assert faults == []
    matcher.settle_down()
    assert sorted(matcher.match(event("a"))) == sorted(names)


def test_a_level_that_grew_while_it_was_joined_is_not_lost(monkeypatch):
    matcher = Matcher()
    build = Index._layer
    added: list[bool] = []

    def slow(self, first, last):
        layer = build(self, first, last)
        if threading.current_thread().name == "headrace-join" and not added:
            added.append(True)
            matcher.add("late", filter_of("late"))
            assert matcher.match(event("late")) == ["late"]
        return layer

    monkeypatch.setattr(Index, "_layer", slow)
    for part in range(3):
        matcher.add_many((f"{part}-{number}", filter_of("t")) for number in range(1100))
        assert len(matcher.match(event("t"))) == 1100 * (part + 1)
    matcher.settle_down()
    assert added
    assert len(matcher.match(event("t"))) == 3300
    assert matcher.match(event("late")) == ["late"]


_ENDING = """
from headrace import Event, Matcher, compile_filter
filters = [compile_filter({"cel": f'data.a == "v{n}" && data.b.startsWith("x{n}")'}) for n in range(3000)]
event = Event({"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}, b'{"a": "v1"}')
matcher = Matcher()
for round_ in range(8):
    matcher.add_many((f"{round_}-{n}", filter_) for n, filter_ in enumerate(filters))
    matcher.match(event)
"""


def test_a_process_may_end_while_levels_are_joined():
    """Before its end waited for them, about every third was aborted."""
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", _ENDING], capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (0, "")

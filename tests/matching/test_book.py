"""Levels grow, join and are swapped while others read, and nothing of it is ever seen from outside."""

import random
import threading

from headrace.events.event import Event
from headrace.filters import compile_filter
from headrace.matching import Matcher, book
from headrace.matching.book import Book


def event(kind):
    return Event({"specversion": "1.0", "id": "1", "source": "/s", "type": kind})


def filter_of(kind):
    return compile_filter({"exact": {"type": kind}})


def test_levels_stay_few_while_members_are_added_one_by_one():
    matcher = Matcher()
    for number in range(3000):
        matcher.add(str(number), filter_of(f"t{number % 7}"))
        if number % 50 == 0:
            assert str(number) in matcher.match(event(f"t{number % 7}"))
    matcher.settle_down()
    assert matcher.match(event("t3")) == [str(number) for number in range(3000) if number % 7 == 3]
    sizes = [layer.size for layer in matcher._book.layers]
    assert sum(sizes) == 3000
    assert len(sizes) <= 5


def test_many_at_once_are_one_level():
    matcher = Matcher()
    matcher.add_many((str(number), filter_of("t")) for number in range(2000))
    assert len(matcher.match(event("t"))) == 2000
    assert [layer.size for layer in matcher._book.layers] == [2000]


def test_one_more_is_a_small_level_of_its_own():
    matcher = Matcher()
    matcher.add_many((str(number), filter_of("t")) for number in range(2000))
    matcher.match(event("t"))
    base = matcher._book.layers[0]
    matcher.add("new", filter_of("u"))
    assert matcher.match(event("u")) == ["new"]
    assert matcher._book.layers[0] is base


def test_who_was_removed_leaves_the_book_at_last(monkeypatch):
    monkeypatch.setattr(book, "_WASTE", 10)
    matcher = Matcher()
    for number in range(200):
        matcher.add("same", filter_of(f"t{number}"))
        assert matcher.match(event(f"t{number}")) == ["same"]
    assert len(matcher) == 1
    assert len(matcher._book.members) < 30


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
    build = Book._layer
    added: list[bool] = []

    def slow(self, first, last):
        layer = build(self, first, last)
        if threading.current_thread().name == "headrace-join" and not added:
            added.append(True)
            matcher.add("late", filter_of("late"))
            assert matcher.match(event("late")) == ["late"]
        return layer

    monkeypatch.setattr(Book, "_layer", slow)
    for part in range(3):
        matcher.add_many((f"{part}-{number}", filter_of("t")) for number in range(400))
        assert len(matcher.match(event("t"))) == 400 * (part + 1)
    matcher.settle_down()
    assert added
    assert len(matcher.match(event("t"))) == 1200
    assert matcher.match(event("late")) == ["late"]

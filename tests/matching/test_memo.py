"""Texts that are searched for others: what was found is kept for the next time, and forgotten when it is too much."""

import json
import random
import string

import pytest

from headrace.events.batch import to_batch
from headrace.events.event import Event
from headrace.events.recorded import Arrival
from headrace.filters import compile_filter
from headrace.matching import Matcher
from headrace.matching.index.kernels import memo

ATTRIBUTES = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


def batch_of(records):
    arrivals = [Arrival(Event(ATTRIBUTES, json.dumps(each).encode()), "n", "c") for each in records]
    return to_batch(arrivals, 0, 0)


@pytest.fixture
def little_is_kept(monkeypatch):
    monkeypatch.setattr(memo, "_KEPT_BYTES", 16_384)


@pytest.mark.usefixtures("little_is_kept")
def test_texts_met_again_and_again_contain_what_they_did_the_first_time():
    chance = random.Random(3)
    parts = [*string.ascii_lowercase, *(a + b for a in string.ascii_lowercase for b in "abcdefgh")]
    matcher = Matcher()
    matcher.add_many(
        (part, compile_filter({"cel": f'data.v.contains("{part}") && data.even == true'})) for part in parts
    )
    values = ["".join(chance.choices(string.ascii_lowercase, k=60)) for _ in range(150)]
    texts = [value for value in values for _ in range(4)]  # more than is kept
    texts += chance.choices(values[:40], k=500)
    records = [{"v": text, "even": number % 2 == 0} for number, text in enumerate(texts)]
    expected = [
        [part for part in parts if number % 2 == 0 and part in text] for number, text in enumerate(texts)
    ]
    assert matcher.match_batch(batch_of(records)) == expected


def test_equal_texts_of_two_fields_are_kept_apart():
    matcher = Matcher()
    matcher.add("a", compile_filter({"cel": 'data.a.contains("x")'}))
    matcher.add("b", compile_filter({"cel": 'data.b.contains("y")'}))
    records = [{"a": "xy", "b": "xy"}, {"a": "y", "b": "x"}] * 5
    assert matcher.match_batch(batch_of(records)) == [["a", "b"], []] * 5


@pytest.mark.usefixtures("little_is_kept")
def test_a_text_whose_matches_alone_are_more_than_is_kept():
    matcher = Matcher()
    matcher.add_many(
        (str(number), compile_filter({"cel": f'data.v.contains("x") && data.n != {number}'}))
        for number in range(2_000)
    )
    matcher.add_many((f"v{number}", compile_filter({"cel": 'data.v.contains("x")'})) for number in range(10))
    for _ in range(5):
        found = matcher.match_batch(
            batch_of([{"v": "x" * length, "n": length} for length in (1, 1, 50, 5_000)])
        )
        assert [len(each) for each in found] == [2_009, 2_009, 2_009, 2_010]

from hypothesis import given
from hypothesis import strategies as st

from headrace.events.batch import SCHEMA
from headrace.pipeline.history.backtest import Backtest, Bucket
from headrace.pipeline.jobs.backtest import bucket_seconds, every_bucket

_MICROS = st.integers(0, 4 * 10**15)


@given(_MICROS, st.integers(1, 10**15), st.integers(2, 1000))
def test_buckets_cover_any_range_with_no_more_than_asked_for(start, length, most):
    width = bucket_seconds((start, start + length), most) * 10**6
    first, last = start // width, (start + length - 1) // width
    assert last - first + 1 <= most


@given(st.integers(2, 1000))
def test_buckets_are_no_wider_than_they_have_to_be(most):
    assert bucket_seconds((0, 3600 * 10**6), most) <= max(1, 2.5 * 3600 / (most - 1))


def test_a_pause_is_seen():
    """Of half a minute in buckets of five seconds, the first and the last cut, two had events."""
    busy = (Bucket(10 * 10**6, 7, 3), Bucket(25 * 10**6, 1, 0))
    found = Backtest(8, 3, 5, busy, SCHEMA.empty_table())
    every = every_bucket(found, (7 * 10**6, 36 * 10**6 + 1))
    assert [each.start // 10**6 for each in every] == [5, 10, 15, 20, 25, 30, 35]
    assert [each.events for each in every] == [0, 7, 0, 0, 1, 0, 0]
    assert [each.matched for each in every] == [0, 3, 0, 0, 0, 0, 0]

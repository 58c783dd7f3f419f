from hypothesis import given
from hypothesis import strategies as st

from headrace.pipeline.jobs.backtest import bucket_seconds

_MICROS = st.integers(0, 4 * 10**15)


@given(_MICROS, st.integers(1, 10**15), st.integers(2, 1000))
def test_buckets_cover_any_range_with_no_more_than_asked_for(start, length, most):
    width = bucket_seconds((start, start + length), most) * 10**6
    first, last = start // width, (start + length - 1) // width
    assert last - first + 1 <= most


@given(st.integers(2, 1000))
def test_buckets_are_no_wider_than_they_have_to_be(most):
    assert bucket_seconds((0, 3600 * 10**6), most) <= max(1, 2.5 * 3600 / (most - 1))

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.filters.message.instants import milliseconds

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
offsets = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(timezones=offsets))
def test_as_datetime_counts(moment):
    assert milliseconds(moment.isoformat()) == (moment - EPOCH) // timedelta(milliseconds=1)


TEXTS = [
    ("1970-01-01T00:00:00Z", 0),
    ("1970-01-01t00:00:00z", 0),
    ("1970-01-01T01:00:00.1+01:00", 100),
    ("1970-01-01T00:00:00.0019999999999Z", 1),
    ("1969-12-31T23:59:59.9999Z", -1),
    ("1972-06-30T23:59:60Z", 78796800000),
    ("0000-03-01T00:00:00Z", -62162035200000),
    ("2021-02-29T00:00:00Z", None),
    ("2021-02-22", None),
    ("yesterday", None),
    ("", None),
    ("1970-01-01T00:00:00Z\n", None),
    ("١٩٧٠-01-01T00:00:00Z", None),
]


@pytest.mark.parametrize(("text", "instant"), TEXTS)
def test_texts(text, instant):
    assert milliseconds(text) == instant

import pytest

from headrace.filters.values.faults import Fault
from headrace.filters.values.kinds import Duration, Timestamp
from headrace.filters.values.times import of_moment, read_duration


def test_thousands_of_digits_are_read_as_far_as_they_count():
    assert read_duration(f"1.{'1' * 5000}s") == Duration(1_111_111_111)
    assert read_duration(f"{'0' * 5000}1s") == Duration(1_000_000_000)
    with pytest.raises(Fault, match="ten thousand years"):
        read_duration(f"{'1' * 5000}s")


def test_a_zone_of_any_length_is_none():
    with pytest.raises(Fault, match="is not a time zone"):
        of_moment(lambda moment: moment.hour)(Timestamp(0), "A" * 1_000_000)

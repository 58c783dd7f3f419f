import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.events.positions import MOST_PARTITIONS, LogPosition, offset_of, partition_of, position_at

PARTITIONS = st.sampled_from([0, 1, 2, 1024, MOST_PARTITIONS - 1])
POSITIONS = st.builds(position_at, PARTITIONS, st.integers(0, 6))
CUTS = st.lists(POSITIONS, max_size=4).map(lambda positions: LogPosition.at(*positions))


@given(PARTITIONS, st.integers(0, (1 << 44) - 1))
def test_a_position_is_a_partition_and_an_offset_in_64_bits(partition, offset):
    position = position_at(partition, offset)
    assert (partition_of(position), offset_of(position)) == (partition, offset)
    assert 0 <= position < 1 << 63


def test_the_positions_of_the_first_partition_are_its_offsets():
    assert position_at(0, 7) == 7
    assert LogPosition.at(7)[0] == 7


def test_a_partition_that_is_not_named_begins_behind_the_cut():
    assert LogPosition.at(7)[1] == position_at(1, 0)
    assert LogPosition.at(0, position_at(3, 0)) == LogPosition() == LogPosition({1: position_at(1, 0)})
    assert not LogPosition.at(7).is_behind(position_at(1, 0))


@given(CUTS, CUTS, POSITIONS)
def test_what_lies_before_a_cut(a, b, position):
    """Order, join, meet and ranges all follow from which positions lie before."""
    assert a.join(b).is_behind(position) == (a.is_behind(position) or b.is_behind(position))
    assert a.meet(b).is_behind(position) == (a.is_behind(position) and b.is_behind(position))
    assert a <= a.join(b)
    assert a.meet(b) <= a
    assert (a <= b) == (a.join(b) == b) == (a.meet(b) == a)
    in_ranges = any(start <= position < end for start, end in a.ranges_to(b))
    assert in_ranges == (b.is_behind(position) and not a.is_behind(position))
    assert a.are_behind(np.array([position])).tolist() == [a.is_behind(position)]


@given(CUTS, CUTS)
def test_counting(a, b):
    assert a.count_to(b) == sum(end - start for start, end in a.ranges_to(b))
    assert (a.count_to(b) == 0) == (b <= a)


@given(CUTS)
def test_it_survives_its_json(cut):
    again = LogPosition.from_json(cut.to_json())
    assert again == cut
    assert hash(again) == hash(cut)


@pytest.mark.parametrize(
    ("cut", "json", "text"),
    [
        (LogPosition(), "{}", "0"),
        (LogPosition.at(5), '{"0":5}', "5"),
        (
            LogPosition.at(5, position_at(2, 9)),
            f'{{"0":5,"2":{position_at(2, 9)}}}',
            "partition 0 at 5, partition 2 at 9",
        ),
    ],
)
def test_what_is_stored_and_said(cut, json, text):
    assert (cut.to_json(), str(cut)) == (json, text)

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.delivery.intake.progress import PartitionProgress, Progress
from headrace.events.positions import LogPosition, position_at


def test_nothing_under_way_is_settled_as_far_as_it_was_read():
    progress = Progress(7)
    assert progress.settled() == 7
    progress.read_to(12)
    assert progress.settled() == 12


def test_the_oldest_delivery_under_way_holds_the_cursor():
    progress = Progress(0)
    for position in (0, 3, 3, 5):
        progress.begin(position)
    progress.read_to(9)
    progress.settle(5)
    assert progress.settled() == 0
    progress.settle(0)
    assert progress.settled() == 3
    progress.settle(3)
    assert progress.settled() == 3, "one of two deliveries of the event is still under way"
    progress.settle(3)
    assert progress.settled() == 9


def test_a_range_that_is_only_begun_is_not_passed():
    progress = Progress(0)
    progress.begin(4)
    progress.settle(4)
    assert progress.settled() == 0
    progress.begin(4)
    progress.read_to(10)
    assert progress.settled() == 4


ranges = st.lists(st.lists(st.integers(0, 5), max_size=6).map(sorted), max_size=6)


@given(ranges, st.data())
def test_progress_is_the_simple_model(spans, data):
    """The model: a bag of what is under way; nothing at or above its least element is settled."""
    under_way: Counter[int] = Counter()
    progress, read_to = Progress(100), 100

    def settle_some():
        while under_way and data.draw(st.booleans(), "settle one"):
            position = data.draw(st.sampled_from(sorted(under_way)), "which")
            progress.settle(position)
            under_way.subtract([position])
            if not under_way[position]:
                del under_way[position]
            check()

    def check():
        assert progress.settled() == min([read_to, *under_way])

    for number, offsets in enumerate(spans):
        for offset in offsets:
            position = 100 + number * 6 + offset
            progress.begin(position)
            under_way[position] += 1
            check()
            settle_some()
        read_to = 100 + (number + 1) * 6
        progress.read_to(read_to)
        check()
        settle_some()


def test_a_lane_is_not_held_by_another():
    other = position_at(1, 0)
    progress = PartitionProgress(LogPosition.at(1))
    progress.begin(2)
    progress.begin(other + 4)
    progress.read_to(LogPosition.at(9, other + 6))
    assert progress.settled() == LogPosition.at(2, other + 4)
    progress.settle(2)
    assert progress.settled() == LogPosition.at(9, other + 4)


def test_many_begin_at_once_and_each_has_to_end():
    progress = PartitionProgress(LogPosition())
    progress.begin_all(np.array([7, 5, 7], np.int64))
    progress.read_to(LogPosition.at(9))
    assert progress.settled() == LogPosition.at(5)
    progress.settle_all([7, 5])
    assert progress.settled() == LogPosition.at(7)
    progress.settle(7)
    assert progress.settled() == LogPosition.at(9)

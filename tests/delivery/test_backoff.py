import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.delivery.office import delivery_settings

from headrace.delivery.backoff import wait_before

PLAIN = delivery_settings(backoff_seconds=0.5, backoff_max_seconds=60.0, jitter=0.0)
SPREAD = delivery_settings(backoff_seconds=0.5, backoff_max_seconds=60.0, jitter=0.2)


def test_waits_double_up_to_the_maximum():
    assert [wait_before(attempt, PLAIN) for attempt in range(1, 10)] == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]


def test_a_huge_number_of_attempts_does_not_overflow():
    assert wait_before(100_000, PLAIN) == 60


@pytest.mark.parametrize(("chance", "wait"), [(0.0, 0.8), (0.5, 1.0), (1.0, 1.2)])
def test_jitter_spreads_the_wait_around_its_middle(chance, wait):
    assert wait_before(2, SPREAD, chance) == pytest.approx(wait)


@given(attempt=st.integers(1, 10_000))
def test_a_random_wait_stays_within_the_spread(attempt):
    middle = wait_before(attempt, PLAIN)
    assert 0.8 * middle <= wait_before(attempt, SPREAD) <= 1.2 * middle


def test_waits_are_random():
    assert len({wait_before(1, SPREAD) for _ in range(20)}) > 1

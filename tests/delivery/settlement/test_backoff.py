import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.delivery.harness import delivery_settings, spec

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.settlement.backoff import wait_after, wait_before
from headrace.subscriptions.delivery.spec import BackoffPolicy

SETTINGS = delivery_settings(backoff_max_seconds=60.0, jitter=0.0)
SPREAD = delivery_settings(backoff_max_seconds=60.0, jitter=0.2)
EXPONENTIAL = spec(backoff_delay=0.5)
LINEAR = spec(backoff_delay=0.5, backoff_policy=BackoffPolicy.LINEAR)


def waits(which, count):
    return [wait_before(repetition, which, SETTINGS) for repetition in range(1, count + 1)]


def test_exponential_waits_double_up_to_the_maximum():
    assert waits(EXPONENTIAL, 9) == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]


def test_linear_waits_grow_by_the_delay_and_begin_with_none():
    assert waits(LINEAR, 4) == [0, 0.5, 1, 1.5]
    assert wait_before(1000, LINEAR, SETTINGS) == 60


def test_a_huge_number_of_attempts_does_not_overflow():
    assert wait_before(100_000, EXPONENTIAL, SETTINGS) == 60


@pytest.mark.parametrize(("chance", "wait"), [(0.0, 0.8), (0.5, 1.0), (1.0, 1.2)])
def test_jitter_spreads_the_wait_around_its_middle(chance, wait):
    assert wait_before(2, EXPONENTIAL, SPREAD, chance) == pytest.approx(wait)


@given(repetition=st.integers(1, 10_000))
def test_a_random_wait_stays_within_the_spread(repetition):
    middle = wait_before(repetition, EXPONENTIAL, SETTINGS)
    assert 0.8 * middle <= wait_before(repetition, EXPONENTIAL, SPREAD) <= 1.2 * middle


def test_waits_are_random():
    assert len({wait_before(1, EXPONENTIAL, SPREAD) for _ in range(20)}) > 1


@pytest.mark.parametrize(
    ("status", "retry_after", "most", "wait"),
    [
        (429, 7.0, 60.0, 7.0),
        (503, 7.0, 60.0, 7.0),
        (503, 7.0, 3.0, 3.0),
        (503, 0.1, 60.0, 0.5),  # not less than the backoff
        (503, 7.0, None, 0.5),  # nobody asked to honour it
        (503, 7.0, 0.0, 0.5),
        (500, 7.0, 60.0, 0.5),
        (None, None, 60.0, 0.5),
    ],
)
def test_a_sink_may_ask_for_time(status, retry_after, most, wait):
    outcome = Outcome(Verdict.AGAIN, status=status, retry_after=retry_after)
    assert wait_after(outcome, 1, spec(backoff_delay=0.5, retry_after_max=most), SETTINGS) == wait

import time

import pytest

from headrace_bench.match.timing import Spread, passes, quantiles, spread


def test_every_chunk_is_counted_once_and_worked_on_again():
    worked: list[list[int]] = []
    done = passes([[1, 2], [3]], lambda chunk: [each * 10 for each in chunk], worked.append, 0.05)
    assert done.counts == [10, 20, 30]
    assert worked[:4] == [[1, 2], [3], [1, 2], [3]]
    assert len(done.rates) == len(done.wall_rates) > 1
    assert all(rate > 0 for rate in done.rates + done.wall_rates)


def test_a_slow_engine_gets_to_as_many_events_as_fit():
    def slow(number):
        _burn(0.02)
        return [number]

    done = passes(range(1000), slow, slow, 0.05)
    assert 1 <= len(done.counts) <= 3
    assert done.counts == list(range(len(done.counts)))
    assert len(done.rates) >= 1
    assert max(done.rates) <= 50.1


def test_rates_are_events_per_second():
    done = passes([[0] * 10], lambda chunk: chunk, lambda _: _burn(0.01), 0.1)
    assert 700 < max(done.rates) <= 1001
    assert max(done.wall_rates) <= 1001


def test_spread_and_quantiles():
    assert spread([3.0, 1.0, 8.0]) == Spread(1.0, 3.0, 8.0)
    found = quantiles([number * 1000 for number in range(1000, 0, -1)])
    assert found == {"p50": 501.0, "p99": 991.0, "p99.9": 1000.0, "samples": 1000}
    assert quantiles([7000]) == {"p50": 7.0, "p99": 7.0, "p99.9": 7.0, "samples": 1}


def _burn(seconds):
    """Take so long by both clocks: they don't tick alike."""
    ends, wall_ends = time.process_time() + seconds, time.perf_counter() + seconds
    while time.process_time() < ends or time.perf_counter() < wall_ends:
        pass


@pytest.mark.parametrize("rates", [[5.0], [2.0, 4.0]])
def test_the_median_lies_between(rates):
    found = spread(rates)
    assert found.min <= found.median <= found.max

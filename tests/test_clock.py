import time

import pytest

from headrace.clock import Clock


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_it_goes_on_evenly_when_the_machines_clock_is_set(monkeypatch, jump):
    clock, real = Clock(), time.time
    before = clock.time()
    assert before == pytest.approx(real(), abs=1)
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    assert before <= clock.time() < before + 60
    assert clock.shown(before + 5) == pytest.approx(before + 5 + jump, abs=1)

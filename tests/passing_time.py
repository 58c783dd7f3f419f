"""Time that passes at once: what waits for it need not be waited for."""

from headrace.clock import CLOCK, Clock


def pass_seconds(monkeypatch, seconds):
    """From now on, the process's clock is ahead by so many seconds; behind, where they are less than 0."""
    real = CLOCK.time
    monkeypatch.setattr(Clock, "time", lambda _: real() + seconds)

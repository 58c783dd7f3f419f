"""What the route says of itself: idle, working, failing, or standing still."""

import os
import time

import pytest

from headrace.events.positions import LogPosition
from headrace.pipeline.route import progress
from headrace.pipeline.route.progress import PART, RouteProgress
from headrace.telemetry.health import FOREVER, HEALTH, Report, Status
from headrace.telemetry.heartbeat import Beat, State, write_beat


class Stream:
    """A log, what the outbox covers of it, and the reports on both."""

    def __init__(self, folder):
        self.end = self.covered = 0
        self.planner = folder / "planner.beat"
        self.progress = RouteProgress(
            lambda: LogPosition.at(self.end), lambda: LogPosition.at(self.covered), self.planner
        )

    def look(self, batches=3, *, is_warm=True):
        self.progress.look(batches, is_warm=is_warm)
        return HEALTH.reports()[PART]


@pytest.fixture
def stream(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "_LOOK_SECONDS", 0.0)
    yield Stream(tmp_path)
    HEALTH.forget(PART)


def test_without_events_it_is_idle(stream):
    report = stream.look()
    assert report.status is Status.IDLE
    assert report.note.startswith("no events are waiting")


def test_events_that_wait_are_work_as_long_as_batches_end(stream, monkeypatch):
    stream.end = 50
    assert (stream.look().status, "50 events are waiting" in stream.look().note) == (Status.WORKING, True)
    monkeypatch.setattr(progress, "_STALLED_AFTER", 0.0)
    report = stream.look()
    assert report.status is Status.BLOCKED
    assert "50 events wait behind position" in report.note
    monkeypatch.undo()
    stream.covered = 20
    stream.progress._looked_at = 0.0
    assert stream.look().status is Status.WORKING


def test_a_planner_that_compiles_is_at_work(stream, monkeypatch):
    monkeypatch.setattr(progress, "_STALLED_AFTER", 0.0)
    stream.end, now = 50, time.monotonic()
    reports = {"index": Report(Status.WORKING, "compiling 100,000 filters; events wait for it", now, FOREVER)}
    write_beat(stream.planner, Beat(os.getpid(), State.STARTING, now, now, 0, "", reports))
    assert (stream.look().status, stream.look().note) == (
        Status.WORKING,
        "compiling 100,000 filters; events wait for it",
    )
    write_beat(stream.planner, Beat(os.getpid(), State.STARTING, now - 60, now - 60, 0, "", reports))
    assert stream.look().status is Status.BLOCKED, "what it said last is long ago"


def test_a_failure_counts_until_the_route_has_got_beyond_it(stream):
    stream.end = 50
    stream.progress.failed(ValueError("no such column\n  at java"))
    report = stream.look()
    assert report.status is Status.BLOCKED
    assert "ValueError: no such column; if it repeats" in report.note
    assert stream.look(batches=4).status is Status.BLOCKED, "ticks are no progress"
    stream.covered = 10
    assert stream.look(batches=5).status is Status.WORKING


def test_a_failure_without_events_is_over_with_the_next_ticks(stream):
    stream.progress.failed(None)
    assert stream.look(0, is_warm=False).status is Status.BLOCKED
    assert stream.look(3, is_warm=True).status is Status.IDLE


def test_a_log_that_cannot_be_read_is_told(tmp_path, monkeypatch):
    def fail():
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(progress, "_LOOK_SECONDS", 0.0)
    RouteProgress(fail, LogPosition, tmp_path / "none").look(0, is_warm=True)
    assert HEALTH.reports()[PART].status is Status.BLOCKED
    HEALTH.forget(PART)

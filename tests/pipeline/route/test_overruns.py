"""Reports of overruns, without Spark."""

import logging
import sqlite3
import threading
import time
from contextlib import closing

import pyarrow as pa
import pytest

from headrace.config import load_config
from headrace.errors import LogDamaged
from headrace.events.positions import LogPosition
from headrace.pipeline.route.overruns import OverrunReporter, overruns_in
from headrace.pipeline.route.plan import _SCHEMA
from headrace.pipeline.route.route import Route, RoutePaths
from headrace.subscriptions.status import FilterStatus
from headrace.subscriptions.store.store import Store
from headrace.telemetry.metrics import OVERRUNS


def status(overruns=1, position=7, reason="why"):
    return FilterStatus(overruns, reason, position, "2026-01-01T00:00:00.000Z")


def plan(*rows):
    return pa.Table.from_pylist(list(rows), schema=_SCHEMA)


def overrun(subscription, position, times=1, reason="why"):
    return {"subscription": subscription, "position": position, "overrun": {"reason": reason, "times": times}}


def wait_until(holds):
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_the_overruns_of_all_tasks_count_and_the_last_position_tells():
    found = overruns_in(
        plan(
            overrun("a", 9, 2, "last"),
            {"position": 3, "subscription": "a"},
            {"position": 5, "until": 10},
            overrun("a", 4, 3, "first"),
            overrun("b", 1),
            {"position": 0, "until": 5},
        )
    )
    assert {id_: (each.overruns, each.reason, each.position) for id_, each in found.items()} == {
        "a": (5, "last", 9),
        "b": (1, "why", 1),
    }


def test_a_plan_without_overruns_has_none():
    assert overruns_in(plan({"position": 3, "subscription": "a"}, {"position": 0, "until": 5})) == {}


class Frame:
    """A batch as Spark hands it over."""

    def __init__(self, *rows):
        self.toArrow = lambda: plan(*rows)


@pytest.fixture
def route(deployment):
    paths = RoutePaths(str(deployment.folder / "log"), deployment.folder / "work")
    return Route(paths, deployment.outbox, deployment.store, load_config(overrides={}).pipeline)


def test_the_route_takes_overruns_for_what_they_are(deployment, route):
    dear = deployment.subscribe().id
    counted = OVERRUNS._value.get()
    with route._reporter:
        route._write(Frame(overrun(dear, 1, 2), {"position": 0, "until": 2}), 0)
        assert (deployment.pairs(), deployment.outbox.covered()) == ([], LogPosition.at(2))
        rows = [{"position": 3, "subscription": dear}, overrun(dear, 2), {"position": 2, "until": 4}]
        route._write(Frame(*rows), 1)
    assert (deployment.pairs(), deployment.outbox.covered()) == ([(3, dear)], LogPosition.at(4))
    assert OVERRUNS._value.get() == counted + 3
    (found,) = deployment.store.overruns().values()
    assert (found.overruns, found.reason, found.position) == (3, "why", 2)


def test_the_event_is_told_by_what_it_is_known_by(deployment, route):
    dear, other = deployment.subscribe().id, deployment.subscribe().id
    deployment.append("a", "b", "c")
    with route._reporter:
        route._write(Frame(overrun(dear, 1), overrun(other, 99), {"position": 0, "until": 3}), 0)
    found = deployment.store.overruns()
    assert found[dear].event == {"id": "1", "source": "/s", "type": "b"}
    assert found[other].event == {}, "one that can't be read is told by its position"


def test_a_log_that_can_t_be_read_keeps_no_report_back(deployment, caplog):
    dear = deployment.subscribe().id

    def fail(_):
        raise LogDamaged("/x", 1, "cut")

    with OverrunReporter(deployment.store, fail) as reporter:
        reporter.note({dear: status()})
    assert deployment.store.overruns() == {dear: status()}
    assert "can't be read" in caplog.text


def test_nothing_is_reported_of_a_batch_that_the_outbox_did_not_take(deployment, route, monkeypatch):
    dear = deployment.subscribe().id

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(deployment.outbox, "write", fail)
    with route._reporter, pytest.raises(OSError, match="No space"):
        route._write(Frame(overrun(dear, 1), {"position": 0, "until": 2}), 0)
    assert deployment.store.overruns() == {}


def test_routing_does_not_wait_for_a_locked_database(deployment, route):
    """SQLite itself would wait for half a minute."""
    dear = deployment.subscribe().id
    path = deployment.folder / "store.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other, route._reporter:
        other.execute("BEGIN IMMEDIATE")
        for start in range(3):
            route._write(Frame(overrun(dear, start), {"position": start, "until": start + 1}), start)
        assert deployment.outbox.covered() == LogPosition.at(3)
        assert deployment.store.overruns() == {}
        other.execute("ROLLBACK")
        wait_until(deployment.store.overruns)
    assert deployment.store.overruns()[dear].overruns == 3


def test_what_could_not_be_written_comes_with_the_next(deployment, caplog, monkeypatch):
    dear, other = deployment.subscribe().id, deployment.subscribe().id
    report, tried = deployment.store.report_overruns, []

    def fail_once(overruns):
        tried.append(overruns)
        if len(tried) == 1:
            raise OSError("the database is gone")
        report(overruns)

    monkeypatch.setattr(deployment.store, "report_overruns", fail_once)
    with caplog.at_level(logging.WARNING), OverrunReporter(deployment.store) as reporter:
        reporter.note({dear: status(2, 5, "old")})
        wait_until(lambda: "the database is gone" in caplog.text)
        reporter.note({dear: status(1, 6, "new"), other: status()})
    assert deployment.store.overruns() == {dear: status(3, 6, "new"), other: status()}


def test_what_waits_is_written_once_per_subscription():
    """However many batches tell of it while a write is under way."""
    first, going_on = threading.Event(), threading.Event()
    reports = []

    class Slow(Store):
        def __init__(self):
            pass

        def report_overruns(self, overruns):
            reports.append(dict(overruns))
            first.set()
            assert going_on.wait(30)

    with OverrunReporter(Slow()) as reporter:
        reporter.note({"a": status(1)})
        assert first.wait(30)
        for position in range(5):
            reporter.note({"a": status(1, position), "b": status(1, position)})
        going_on.set()
    assert reports == [{"a": status(1)}, {"a": status(5, 4), "b": status(5, 4)}]


def test_what_waits_is_bounded(monkeypatch, deployment):
    monkeypatch.setattr("headrace.pipeline.route.overruns._MOST", 2)
    ids = [deployment.subscribe().id for _ in range(3)]
    with OverrunReporter(deployment.store) as reporter:
        reporter.note({each: status() for each in ids})
    assert set(deployment.store.overruns()) == set(ids[:2])


def test_nothing_is_written_for_nothing(deployment, monkeypatch):
    written: list[object] = []
    monkeypatch.setattr(deployment.store, "report_overruns", written.append)
    with OverrunReporter(deployment.store) as reporter:
        reporter.note({})
    assert written == []

"""The route on real Spark."""

import os
import threading
import time

import pyarrow as pa
import pytest
from tests.pipeline.deadly import make_an_event_deadly

from headrace.config import load_config
from headrace.errors import OutboxGap
from headrace.eventlog.local.outbox.files import list_ranges
from headrace.events.positions import LogPosition, position_at
from headrace.pipeline.route.plan import covered_range
from headrace.pipeline.route.route import Route, RoutePaths
from headrace.telemetry.health import HEALTH


def _plan(*rows: tuple[int, str | None, int | None]) -> pa.Table:
    columns = dict(
        zip(("position", "subscription", "until"), map(list, zip(*rows, strict=True)), strict=True)
    )
    return pa.table(columns | {"aside": [None] * len(rows)})


def test_the_ranges_of_the_tasks_join():
    assert covered_range(_plan((5, None, 9), (2, None, 5), (3, "s", None))) == (
        LogPosition.at(2),
        LogPosition.at(9),
    )


def test_each_partition_has_ranges_of_its_own():
    other = position_at(1, 4)
    assert covered_range(_plan((other, None, other + 2), (0, None, 5))) == (
        LogPosition.at(other),
        LogPosition.at(5, other + 2),
    )


def test_a_gap_between_tasks_is_refused():
    with pytest.raises(OutboxGap):
        covered_range(_plan((0, None, 4), (5, None, 9)))


class _Running:
    """A route in a thread. Spark's driver is this process."""

    def __init__(self, deployment) -> None:
        self._stop, self._ready = threading.Event(), threading.Event()
        settings = {"master": "local[2]", "restart_seconds": 0.1, "max_events_per_batch": 3000}
        config = load_config(overrides={f"pipeline.{name}": value for name, value in settings.items()})
        paths = RoutePaths(str(deployment.folder / "log"), deployment.folder / "work")
        self._route = Route(paths, deployment.outbox, deployment.store, config.pipeline)
        self._thread = threading.Thread(target=self._route.run, args=(self._stop, self._ready.set))

    def __enter__(self):
        self._thread.start()
        assert self._ready.wait(240), "the route isn't ready"
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(60)


def _wait_for_coverage(deployment, end: int, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while deployment.outbox.covered()[0] < end:
        assert time.monotonic() < deadline, f"covered {deployment.outbox.covered()} of {end}"
        time.sleep(0.02)


def _check_what_is_broken_is_set_aside(deployment, everything: str, monkeypatch) -> set[tuple[int, str]]:
    """A filter that can't be compiled and a damaged frame: both are written down, and the rest goes on."""
    broken = deployment.subscribe_unchecked({"of a later version": {}})
    first = deployment.append("x", "x")
    path = max((deployment.folder / "log").glob("*.seg"))
    sync = os.fdatasync

    def sync_to_a_bad_disk(descriptor: int) -> None:
        with path.open("r+b") as file:
            file.seek(-100, os.SEEK_END)
            file.write(b"\xff" * 100)
        sync(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", sync_to_a_bad_disk)
        deployment.append("damaged")
    deployment.append("x")
    _wait_for_coverage(deployment, deployment.writer.end)
    asides = {each.kind: each for each in deployment.store.what_is_set_aside(10)}
    assert asides["filter"].subscription == broken.id
    assert (asides["damage"].position, asides["damage"].until) == (first + 2, first + 3)
    assert len(asides) == 2
    return {(first + n, everything) for n in (0, 1, 3)}


def _check_an_event_that_kills_its_worker(deployment, everything: str) -> set[tuple[int, str]]:
    first = deployment.append(*(["x"] * 30), "deadly", *(["x"] * 10))
    _wait_for_coverage(deployment, deployment.writer.end, seconds=180)  # the query starts again three times
    aside = deployment.store.what_is_set_aside(1)[0]
    assert (aside.kind, aside.position, aside.until) == ("event", first + 30, first + 31)
    assert "dies" in aside.reason
    return {(first + n, everything) for n in range(41) if n != 30}


def _check_a_filter_that_costs_too_much(deployment) -> int:
    """It gets nothing, and its owner sees why."""
    dear = deployment.subscribe({"cel": "data.all(a, data.all(b, data.all(c, a == b && b == c)))"})
    position: int = deployment.append_data([1] * 60)
    _wait_for_coverage(deployment, deployment.writer.end)
    deadline = time.monotonic() + 60
    while not deployment.store.overruns():
        assert time.monotonic() < deadline, "no overrun was reported"
        time.sleep(0.02)
    status = deployment.store.overruns()[dear.id]
    assert (status.overruns, status.position) == (1, position)
    assert "budget" in status.reason
    deployment.store.delete(dear.id, lambda: LogPosition.at(deployment.writer.end))
    return position


def _check_holes_are_routed_again(deployment) -> None:
    """A file is removed and another one damaged while the route runs, of a time with other subscriptions than now."""
    before = deployment.pairs()
    first, second, *_ = list_ranges(deployment.folder / "outbox")
    first.path.unlink()
    content = bytearray(second.path.read_bytes())
    content[-40] ^= 1
    second.path.write_bytes(content)
    deadline = time.monotonic() + 120
    while len(deployment.pairs()) < len(before):  # who reads finds out, and the route looks again
        assert time.monotonic() < deadline, f"{len(deployment.pairs())} of {len(before)} pairs are back"
        time.sleep(0.1)
    assert sorted(deployment.pairs()) == sorted(before)
    assert len(list((deployment.folder / "outbox").glob("*.damaged"))) == 1
    HEALTH.forget("outbox")


def test_events_are_routed_as_subscriptions_come_and_go(deployment, monkeypatch):
    """One Spark for the whole story: starting it is most of the time."""
    make_an_event_deadly(deployment.folder / "site", monkeypatch)
    deployment.append("order", "old")  # before any subscription
    orders = deployment.subscribe({"prefix": {"type": "order"}})
    expected: set[tuple[int, str]] = set()
    with _Running(deployment):
        first = deployment.append("order", "x", "order.2")
        expected |= {(first, orders.id), (first + 2, orders.id)}
        _wait_for_coverage(deployment, deployment.writer.end)

        everything = deployment.subscribe()  # while the stream runs
        second = deployment.append(*(["order"] * 5000))  # enough for two tasks
        expected |= {(second + n, each.id) for n in range(5000) for each in (orders, everything)}
        _wait_for_coverage(deployment, deployment.writer.end)

        deployment.store.delete(orders.id, lambda: LogPosition.at(deployment.writer.end))
        third = deployment.append("order", "x")
        expected |= {(third, everything.id), (third + 1, everything.id)}
        _wait_for_coverage(deployment, deployment.writer.end)

        _check_holes_are_routed_again(deployment)

        fourth = _check_a_filter_that_costs_too_much(deployment)
        expected.add((fourth, everything.id))

        expected |= _check_what_is_broken_is_set_aside(deployment, everything.id, monkeypatch)

        expected |= _check_an_event_that_kills_its_worker(deployment, everything.id)

        # A batch that fails is repeated from where the outbox ends, by a new query.
        failures: list[object] = []
        write = deployment.outbox.write

        def fail_once(*arguments):
            if not failures:
                failures.append(arguments)
                raise OSError(28, "No space left on device")
            return write(*arguments)

        monkeypatch.setattr(deployment.outbox, "write", fail_once)
        fifth = deployment.append("y")
        expected.add((fifth, everything.id))
        _wait_for_coverage(deployment, deployment.writer.end)
        assert failures
    pairs = deployment.pairs()
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == expected

    sixth = deployment.append("after the stop")
    with _Running(deployment):
        _wait_for_coverage(deployment, deployment.writer.end)
    assert deployment.pairs()[-1] == (sixth, everything.id)
    assert len(deployment.pairs()) == len(pairs) + 1

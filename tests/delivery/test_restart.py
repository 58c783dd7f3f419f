"""A delivery may be repeated by a crash, never lost; and what was settled stays settled."""

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from functools import partial

from tests.delivery.harness import Harness, eventually, sample
from tests.delivery.raw_sink import RawSink, answer, silence

from headrace.config import load_config, write_snapshot
from headrace.events.positions import LogPosition


def events(*numbers):
    return [sample(number) for number in numbers]


def has_seen(sink, count):
    return len(sink.requests) >= count


async def test_only_what_was_not_settled_is_repeated(harness, sink):
    """One sink hangs and holds the cursor; the other has everything already."""
    async with RawSink(lambda request: silence() if int(request["ce-id"]) >= 40 else answer(200)) as stuck:
        subscriptions = [harness.subscribe(sink.url), harness.subscribe(stuck.url)]
        for start in range(0, 100, 10):
            harness.send(events(*range(start, start + 10)), *subscriptions)
        async with harness.crashing():
            await eventually(
                lambda: len(sink.requests) == 100 and harness.ledger.cursor() == LogPosition.at(40)
            )
        cursor = harness.ledger.cursor()[0]
        stuck.reply = lambda _: answer(200)
        async with harness.delivering():
            await eventually(harness.settled)
        for each in (sink, stuck):
            counts = Counter(map(int, each.ids))
            assert set(counts) == set(range(100)), "nothing is lost"
            assert all(counts[position] == 1 for position in range(cursor))
            assert max(counts.values()) <= 2


async def test_a_stop_repeats_nothing_to_a_sink_that_kept_up(harness, sink):
    subscription = harness.subscribe(sink.url)
    for number in range(5):
        async with harness.delivering():
            harness.send(events(*range(number * 20, number * 20 + 20)), subscription)
            await eventually(harness.settled)
    assert sorted(map(int, sink.ids)) == list(range(100))


async def test_stopped_again_and_again_in_the_middle_nothing_is_lost(harness, sink):
    subscription = harness.subscribe(sink.url)
    harness.send(events(*range(400)), subscription)
    for seen in (50, 120, 200):
        async with harness.crashing(concurrency=2):
            await eventually(partial(has_seen, sink, seen))
    async with harness.delivering():
        await eventually(harness.settled)
    assert set(map(int, sink.ids)) == set(range(400))


async def test_what_a_crash_left_in_the_ledger_is_not_begun_a_second_time(harness, sink):
    """The cursor is held by the first range; the ledger has deliveries of several ranges behind it."""
    async with RawSink(lambda _: silence()) as stuck, RawSink(lambda _: answer(400)) as gone:
        failing = asyncio.Event()
        sink.reply = lambda _: answer(200 if failing.is_set() else 500)
        holder, dead, waiting = (harness.subscribe(each.url) for each in (stuck, gone, sink))
        harness.send(events(0), holder)
        for start in range(1, 31, 10):
            harness.send(events(*range(start, start + 10)), dead, waiting)
        async with harness.crashing(retries=100, backoff_seconds=60.0, backoff_max_seconds=60.0):
            await eventually(lambda: harness.ledger.count() == (30, 30))
        assert harness.ledger.cursor() == LogPosition.at(0)
        assert (len(gone.requests), len(sink.requests)) == (30, 30)
        failing.set()
        stuck.reply = lambda _: answer(200)
        async with harness.delivering():
            await eventually(lambda: harness.ledger.cursor() == LogPosition.at(31))
            assert harness.ledger.count() == (30, 30), "the waiting wait until they are due"
        assert (len(gone.requests), len(sink.requests)) == (30, 30)


async def test_a_retry_that_waited_is_made_after_the_restart(harness, sink):
    sink.reply = lambda _: answer(500)
    harness.send(events(1), harness.subscribe(sink.url))
    async with harness.crashing(backoff_seconds=0.2):
        await eventually(
            lambda: harness.ledger.count()[0] == 1 and harness.ledger.cursor() == LogPosition.at(1)
        )
    sink.reply = lambda _: answer(200)
    async with harness.delivering():
        await eventually(harness.settled)
    assert sink.ids == ["1", "1"]
    assert harness.ledger.count() == (0, 0)


async def test_attempts_are_counted_over_restarts(harness, sink):
    sink.reply = lambda _: answer(500)
    subscription = harness.subscribe(sink.url)
    harness.send(events(1), subscription)

    def made(attempts):
        waiting = harness.ledger.due(subscription, "sink", 1e12, 1)
        return bool(waiting) and waiting[0].attempts >= attempts

    for times in (1, 2, 3):
        async with harness.crashing(retries=3, backoff_seconds=0.2):
            await eventually(partial(made, times))
    async with harness.delivering(retries=3):
        await eventually(lambda: harness.ledger.count() == (0, 1))
    assert 4 <= len(sink.requests) <= 7, "an attempt whose outcome was not yet durable may be made again"


class Role:
    """The dispatcher as a process of its own, which can be killed."""

    def __init__(self, harness, folder, **settings):
        (folder / "run").mkdir()
        wanted = {
            "data": str(folder),
            "store.url": harness.database_url,
            "delivery.url": harness.database_url,
            **{f"delivery.{name}": value for name, value in settings.items()},
        }
        snapshot = folder / "run" / "config.json"
        write_snapshot(load_config(None, wanted, {}), snapshot)
        self._log = folder / "role.log"
        self._command = [sys.executable, "-m", "headrace.service.role", "dispatcher", str(snapshot)]

    def start(self):
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stderr=output)

    def kill(self):
        self._process.kill()
        self._process.communicate()

    def stop(self):
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=20)
        assert self._process.returncode == 0, self._log.read_text()


async def test_the_role_killed_in_the_middle_loses_nothing(harness, sink, tmp_path):
    """Some events fail at first, so that retries wait in the ledger when it is killed."""
    refused: set[str] = set()

    def refuse_some_once(request):
        event = request["ce-id"]
        if int(event) % 7 == 0 and event not in refused:
            refused.add(event)
            return answer(503)
        return answer(200)

    sink.reply = refuse_some_once
    subscription = harness.subscribe(sink.url)
    harness.send(events(*range(300)), subscription)
    settings = {"flush_seconds": 0.02, "backoff_seconds": 0.3, "memory_seconds": 600.0}
    role = Role(harness, tmp_path, concurrency=2, **settings)
    role.start()
    try:
        await eventually(lambda: len(sink.requests) > 100)
        role.kill()
        cursor = harness.ledger.cursor()[0]
        role.start()
        await eventually(harness.settled)
        role.stop()
    finally:
        role.kill()
    counts = Counter(map(int, sink.ids))
    assert set(counts) == set(range(300))
    assert all(counts[position] == 1 for position in range(cursor) if position % 7)


async def test_a_database_that_dies_under_load_holds_up_nothing_but_itself(tmp_path, postgres):
    """Deliveries go on while it is away; afterwards everything is settled, and nothing was sent twice."""
    with postgres.new_url() as url, closing(Harness(tmp_path, url, patience=30.0)) as harness:
        async with RawSink() as sink, harness.delivering(concurrency=4, queue_length=6000):
            subscription = harness.subscribe(sink.url)
            for start in range(0, 3000, 100):
                harness.send(events(*range(start, start + 100)), subscription)
            for threshold in (300, 1500):
                await eventually(partial(has_seen, sink, threshold))
                await asyncio.to_thread(postgres.kill)
                await eventually(partial(has_seen, sink, threshold + 500))
                await asyncio.to_thread(postgres.start)
            await eventually(harness.settled)
        assert sorted(map(int, sink.ids)) == list(range(3000))

"""Chaos: dispatcher and sinks are killed at random while sinks fail, hang and dribble. Nothing may be lost."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from contextlib import contextmanager
from pathlib import Path

from headrace.service.processes.process_table import role_processes
from headrace.service.processes.service import free_port
from headrace_bench.events import bench_events
from headrace_bench.harness import DispatcherAlone

SUBSCRIPTIONS = 200
EVENTS = 500
SINKS = 4
KILLS = 8
SECONDS = 240
# Retries don't run out here: what is given up would not be lost, but it would not be at a sink either.
DELIVERY = {"retry": 90, "backoffDelay": "PT0.02S", "backoffPolicy": "linear", "timeout": "PT1S"}


class MoodySink:
    """One process; `kill` and `start` as often as one likes, on the same port and the same record."""

    def __init__(self, folder: Path, number: int, seed: int) -> None:
        self.record = folder / f"sink-{number}.txt"
        self.record.touch()
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._seed = seed
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = str(Path(__file__).with_name("chaos_sink.py"))
        arguments = [str(self._port), str(self.record), str(self._seed)]
        self._process = subprocess.Popen([sys.executable, program, *arguments])

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def arrivals(self) -> int:
        """How many lines there are, without counting them: all are about as long."""
        return self.record.stat().st_size // 12

    def accepted(self) -> list[tuple[str, str]]:
        """The subscription's number and the event's id, in the order of their arrival."""
        lines = self.record.read_text().splitlines()
        return [(path.strip("/"), id_) for path, _, id_ in (line.partition(" ") for line in lines)]


@contextmanager
def moody_sinks(folder: Path, seed: int):
    made = [MoodySink(folder, number, seed) for number in range(SINKS)]
    for sink in made:
        sink.start()
    try:
        yield made
    finally:
        for sink in made:
            sink.kill()


def wish(number: int, sink: MoodySink) -> dict[str, object]:
    ordering = ("ordered", "unordered", "partitionkey", "unordered")[number % 4]
    return {
        "protocol": "HTTP",
        "sink": f"{sink.url}/{number}",
        "config": {"delivery": {**DELIVERY, "ordering": ordering}},
    }


async def test_kills_and_bad_sinks_lose_nothing(tmp_path, capsys):
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    settings = {
        "DELIVERY_BREAKER_SECONDS": "0.2",
        "DELIVERY_BREAKER_MAX_SECONDS": "1.0",
        "DELIVERY_BACKOFF_MAX_SECONDS": "0.5",
        "DELIVERY_RECORD_SUCCESSES": "false",
    }
    events = bench_events(EVENTS)
    with moody_sinks(tmp_path, seed) as sinks, DispatcherAlone(tmp_path, settings) as harness:
        subscriptions = [
            harness.subscribe(wish(number, sinks[number % SINKS])) for number in range(SUBSCRIPTIONS)
        ]
        await harness.start()
        for start in range(0, EVENTS, 50):
            harness.send(events[start : start + 50], lambda _: subscriptions)
        wanted = {(str(number), event.id) for number in range(SUBSCRIPTIONS) for event in events}
        for victim in chance.sample(["dispatcher", "sink"] * (KILLS // 2), KILLS):
            await _more_arrived(sinks, chance.randrange(2_000, 8_000))
            if victim == "sink":
                await _restart(chance.choice(sinks), chance.uniform(0, 1.0))
            else:
                for process in role_processes(harness.service.pid, "dispatcher"):
                    os.kill(process, signal.SIGKILL)
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            arrived = Counter(pair for sink in sinks for pair in sink.accepted())
            if wanted <= arrived.keys():
                break
            await asyncio.sleep(1.0)
        in_order = _ordered_in_order([pair for sink in sinks for pair in sink.accepted()], events)
    lost = wanted - arrived.keys()
    with capsys.disabled():
        print(  # noqa: T201  the figures are part of what this test shows
            f"\nseed {seed}, {KILLS} kills: {len(wanted)} deliveries to {SUBSCRIPTIONS} subscriptions, "
            f"{len(lost)} lost, {arrived.total() - len(arrived)} repeated"
        )
    assert not lost
    assert arrived.keys() <= wanted
    assert in_order


async def _more_arrived(sinks: list[MoodySink], count: int) -> None:
    """Wait until deliveries go on again, so that the next kill hits somebody at work."""
    before = sum(sink.arrivals() for sink in sinks)
    deadline = time.monotonic() + SECONDS
    while sum(sink.arrivals() for sink in sinks) < before + count and time.monotonic() < deadline:
        await asyncio.sleep(0.02)


async def _restart(sink: MoodySink, seconds: float) -> None:
    sink.kill()
    await asyncio.sleep(seconds)
    sink.start()


def _ordered_in_order(accepted, events):
    """Whether each ordered subscription saw the events first in the order of the log; repetitions may come later."""
    queue_id = {event.id: number for number, event in enumerate(events)}
    first_seen: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for subscription, id_ in accepted:
        first_seen[subscription].setdefault(id_, None)
    return all(
        [queue_id[id_] for id_ in seen] == sorted(queue_id[id_] for id_ in seen)
        for subscription, seen in first_seen.items()
        if int(subscription) % 4 == 0
    )

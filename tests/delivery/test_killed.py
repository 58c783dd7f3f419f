"""SIGKILL at any moment: order, dead letters and replies are kept, and nothing is lost at any stage."""

import asyncio
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from functools import partial

import msgspec
from tests.delivery.harness import eventually, sample
from tests.delivery.killable import Order
from tests.delivery.raw_sink import RawSink, answer

KILLS = 2


def has_seen(sink, count):
    return len(sink.requests) > count


class Killable:
    def __init__(self, harness, settings=None, **order):
        self._path = harness.folder / "order.json"
        self._log = harness.folder / "killable.log"
        settings = settings or {
            "flush_seconds": 0.02, "queue_length": 40, "retries": 30, "backoff_max_seconds": 0.3,
        }  # fmt: skip
        whole = Order(str(harness.folder), harness.database_url, settings, **order)
        self._path.write_bytes(msgspec.json.encode(whole))

    def start(self):
        command = [sys.executable, "-m", "tests.delivery.killable", str(self._path)]
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(command, stderr=output)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def stop(self):
        self._process.terminate()
        assert self._process.wait(20) == 0, self._log.read_text()


async def test_killed_again_and_again_nothing_is_lost_at_any_stage(harness):
    chance = random.Random(7)

    def some_fail(request):
        number = int(request["ce-id"])
        if request.target == "/refuses" and number % 3 == 0:
            return answer(400, b"no")
        return answer(503 if chance.random() < 0.2 else 200)

    async with RawSink(some_fail) as sink, RawSink(some_fail) as messages, RawSink(some_fail) as answers:
        ordered, asks, refuses = (
            harness.subscribe(f"{sink.url}/{name}") for name in ("ordered", "asks", "refuses")
        )
        killable = Killable(
            harness,
            specs={ordered: {"ordering": "ordered"}, refuses: {"dead_letter_sink": messages.url}},
            replies={asks: answers.url},
        )
        harness.send([sample(number) for number in range(200)], ordered, asks, refuses)
        try:
            for round_ in range(KILLS):
                killable.start()
                seen = len(sink.requests)
                await eventually(partial(has_seen, sink, seen + 60), seconds=60)
                await asyncio.sleep(chance.random() * 0.2)
                killable.kill()
                numbers = range(200 + round_ * 50, 250 + round_ * 50)
                harness.send([sample(number) for number in numbers], ordered, asks, refuses)
            killable.start()
            await eventually(harness.settled, seconds=90)
            killable.stop()
        finally:
            killable.kill()
    total = 200 + 50 * KILLS
    arrived = {name: set(map(int, sink.ids_at(f"/{name}"))) for name in ("ordered", "asks", "refuses")}
    assert arrived == {name: set(range(total)) for name in arrived}
    assert set(map(int, messages.ids)) == set(range(0, total, 3))
    assert {int(each) - 900 for each in answers.ids} == set(range(total))
    first = list(dict.fromkeys(map(int, sink.ids_at("/ordered"))))
    assert first == [*range(total)], "no event came for the first time before one that is ahead of it"
    assert harness.ledger.count() == (0, 0)
    assert Counter(sink.ids_at("/ordered")).total() < 3 * total


async def test_a_kill_repeats_no_more_than_was_settled_a_moment_before(harness, capsys):
    """A slow sink holds the cursor; what the others have acknowledged meanwhile isn't sent to them again."""
    acknowledged: defaultdict[tuple[str, str], list[float]] = defaultdict(list)

    async def slowly():
        await asyncio.sleep(8)
        yield answer(200)

    def take(request):
        acknowledged[request.target, request["ce-id"]].append(time.monotonic())
        return slowly() if request.target == "/slow" else answer(200)

    kills = []
    async with RawSink(take) as sink:
        slow, *brisk = (harness.subscribe(f"{sink.url}/{name}") for name in ("slow", "a", "b", "c", "d"))
        specs = {each: {"rate": 250.0, "concurrency": 4} for each in brisk}
        killable = Killable(
            harness, settings={"memory_seconds": 20.0, "flush_seconds": 0.1}, specs=specs, replies={}
        )
        harness.send([sample(0)], slow)
        harness.send([sample(number) for number in range(1, 1500)], *brisk)
        try:
            for _ in range(KILLS):
                killable.start()
                await eventually(partial(has_seen, sink, len(sink.requests) + 1500), seconds=60)
                killed = time.monotonic()
                killable.kill()
                await asyncio.sleep(0.3)  # the sink reads what it was sent until then
                kills.append((killed, time.monotonic()))
            killable.start()
            await eventually(harness.settled, seconds=90)
            killable.stop()
        finally:
            killable.kill()
    assert len(acknowledged) == 1 + 4 * 1499
    # The slow sink got its event long before it answered; of the others a kill may repeat the last moment.
    ages: defaultdict[float, list[float]] = defaultdict(list)
    for (target, _), times in acknowledged.items():
        for one in times[:-1] if target != "/slow" else ():
            kill = next((killed for killed, was_read in kills if was_read > one), None)
            assert kill is not None, "it was repeated without a kill"
            ages[kill].append(kill - one)
    told = [f"{len(each)} repeated, the oldest {max(each):.3f} s before the kill" for each in ages.values()]
    with capsys.disabled():
        sys.stdout.write(f"\n{'; '.join(told)}\n")
    assert all(len(each) < 400 for each in ages.values()), "a quarter of what had been acknowledged"

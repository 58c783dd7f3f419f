"""SIGKILL at any moment: order, dead letters and replies are kept, and nothing is lost at any stage."""

import asyncio
import random
import subprocess
import sys
from collections import Counter
from functools import partial

import msgspec
from tests.delivery.harness import eventually, sample
from tests.delivery.killable import Order
from tests.delivery.raw_sink import RawSink, answer

KILLS = 2


def has_seen(sink, count):
    return len(sink.requests) > count


class Killable:
    def __init__(self, harness, **order):
        self._path = harness.folder / "order.json"
        self._log = harness.folder / "killable.log"
        settings = {"flush_seconds": 0.02, "queue_length": 40, "retries": 30, "backoff_max_seconds": 0.3}
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

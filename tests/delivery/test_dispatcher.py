import asyncio
import itertools

import pytest
from sqlalchemy import select
from tests.delivery.guards import LOOPBACK
from tests.delivery.harness import Harness, delivery_settings, eventually, sample
from tests.delivery.raw_sink import RawSink, answer, silence

from headrace.database.database import Database
from headrace.delivery.protocols.http.sender import HttpSender
from headrace.delivery.queue import follower as follower_module
from headrace.eventlog.local.outbox.reader import LocalOutboxReader
from headrace.eventlog.local.outbox.writer import LocalOutboxWriter
from headrace.eventlog.local.segments import list_segments
from headrace.eventlog.retention import expire_segments
from headrace.eventlog.settings import LogSettings
from headrace.events.bindings.http import encode_structured
from headrace.events.positions import LogPosition
from headrace.ledger.ledger import Changes, Key, Ledger, Wait
from headrace.ledger.tables import DEAD
from headrace.telemetry.metrics import DELIVERED


class Gate:
    """Holds answers back until it is opened."""

    def __init__(self, *held: str) -> None:
        self.held = held
        self.opened = asyncio.Event()

    def __call__(self, request):
        return self._wait() if request["ce-id"] in self.held or not self.held else answer(200)

    async def _wait(self):
        await self.opened.wait()
        yield answer(200)

    def open(self):
        self.opened.set()


def dead(harness):
    with harness.ledger.database.engine.connect() as connection:
        return connection.execute(select(DEAD).order_by(DEAD.c.position)).all()


async def test_everything_planned_is_delivered_once_and_nothing_else(harness, sink):
    names = [f"/{number}" for number in range(4)]
    subscriptions = [harness.subscribe(sink.url + name) for name in names]
    wanted: dict[str, list[str]] = {name: [] for name in names}
    numbers = itertools.count()
    before = DELIVERED._value.get()
    async with harness.delivering():
        for _ in range(4):
            events = [sample(next(numbers)) for _ in range(150)]
            positions = harness.record(events)
            pairs = []
            for position in positions:
                for index in range(4):
                    if position % (index + 1) == 0:
                        pairs.append((position, subscriptions[index]))
                        wanted[names[index]].append(str(position))
            harness.plan(positions, pairs)
        await eventually(harness.settled)
    for name in names:
        assert sorted(sink.ids_at(name), key=int) == wanted[name]
    assert DELIVERED._value.get() - before == sum(map(len, wanted.values()))
    assert harness.ledger.count() == (0, 0)


async def test_an_event_arrives_as_it_was_recorded(harness, sink):
    subscriptions = [
        harness.subscribe(sink.url + "/b"),
        harness.subscribe(sink.url + "/s", mode="structured"),
    ]
    event = sample(7, subject="ä b", time="2026-01-01T00:00:00.000+02:00", datacontenttype="application/json")
    async with harness.delivering():
        harness.send([event], *subscriptions)
        await eventually(harness.settled)
    binary, structured = sorted(sink.requests, key=lambda request: request.target)
    assert (binary.body, binary["ce-time"], binary["content-type"]) == (
        event.data,
        "2026-01-01T00:00:00.000+02:00",
        "application/json",
    )
    assert structured.body == encode_structured(event).body


async def test_ranges_without_a_single_match_are_passed(harness, sink):
    async with harness.delivering():
        harness.plan(harness.record([sample(1), sample(2)]), [])
        await eventually(harness.settled)
    assert harness.ledger.cursor() == LogPosition.at(2)


async def test_a_failing_sink_is_tried_again_later_and_later_and_then_given_up(harness):
    times = []

    def fail(_):
        times.append(asyncio.get_running_loop().time())
        return answer(503, b"come back")

    event = sample(1, subject="é")
    async with RawSink(fail) as sink, harness.delivering(retries=3, backoff_seconds=0.05):
        subscription = harness.subscribe(sink.url)
        harness.send([event], subscription)
        await eventually(lambda: harness.settled() and harness.ledger.count() == (0, 1))
    assert len(times) == 4
    for wait, (before, after) in zip((0.05, 0.1, 0.2), itertools.pairwise(times), strict=True):
        assert after - before >= wait
    ((owner, _, _, position, attempts, _, reason, kept),) = dead(harness)
    assert (owner, position, attempts, reason) == (subscription, 0, 4, "status 503: come back")
    assert kept == encode_structured(event).body


async def test_a_sink_that_heals_gets_its_event(harness):
    statuses = iter([500, 429, 200])
    async with RawSink(lambda _: answer(next(statuses))) as sink, harness.delivering():
        harness.send([sample(1)], harness.subscribe(sink.url))
        await eventually(harness.settled)
        assert len(sink.requests) == 3
    assert harness.ledger.count() == (0, 0)


async def test_what_stays_wrong_is_given_up_at_once(harness):
    async with RawSink(lambda _: answer(400, b"bad")) as sink, harness.delivering():
        harness.send([sample(1), sample(2)], harness.subscribe(sink.url))
        await eventually(harness.settled)
        assert len(sink.requests) == 2
    assert [(row.position, row.attempts, row.reason) for row in dead(harness)] == [
        (0, 1, "status 400: bad"),
        (1, 1, "status 400: bad"),
    ]


async def test_without_retries_the_first_failure_is_the_last(harness):
    async with RawSink(lambda _: answer(500)) as sink, harness.delivering(retries=0):
        harness.send([sample(1)], harness.subscribe(sink.url))
        await eventually(harness.settled)
        assert len(sink.requests) == 1
    assert harness.ledger.count() == (0, 1)


async def test_a_hanging_sink_does_not_slow_a_live_one(harness, sink):
    async with (
        RawSink(lambda _: silence()) as hanging,
        harness.delivering(queue_length=20, shutdown_seconds=0.1, timeout_seconds=60.0),
    ):
        subscriptions = [harness.subscribe(hanging.url), harness.subscribe(sink.url)]
        for start in range(0, 500, 50):
            harness.send([sample(start + offset) for offset in range(50)], *subscriptions)
        await eventually(lambda: len(sink.requests) == 500)
        assert len(hanging.requests) == 16, "as many as may be under way at a time"
        assert harness.ledger.count()[1] == 0


async def test_what_a_queue_can_not_take_waits_in_the_ledger_and_is_delivered_once(harness):
    gate = Gate()
    async with RawSink(gate) as sink, harness.delivering(concurrency=2, queue_length=10):
        harness.send([sample(number) for number in range(300)], harness.subscribe(sink.url))
        await eventually(lambda: harness.ledger.count()[0] >= 290)
        gate.open()
        await eventually(harness.settled)
        assert sorted(sink.ids, key=int) == [str(number) for number in range(300)]
    assert harness.ledger.count() == (0, 0)


async def test_all_queues_together_are_bounded(harness):
    gate = Gate()
    async with RawSink(gate) as sink, harness.delivering(concurrency=1, max_queued=5):
        subscriptions = [harness.subscribe(f"{sink.url}/{name}") for name in "ab"]
        harness.send([sample(number) for number in range(50)], *subscriptions)
        await eventually(lambda: harness.ledger.count()[0] > 80)
        gate.open()
        await eventually(harness.settled)
        for name in "ab":
            assert sorted(sink.ids_at(f"/{name}"), key=int) == [str(number) for number in range(50)]


async def test_what_is_queued_for_a_deleted_subscription_is_dropped(harness):
    gate = Gate()
    async with RawSink(gate) as sink, harness.delivering(concurrency=1, queue_length=10):
        subscription = harness.subscribe(sink.url)
        harness.send([sample(number) for number in range(30)], subscription)
        await eventually(lambda: len(sink.requests) == 1 and harness.ledger.count()[0] > 0)
        harness.store.delete(subscription, lambda: LogPosition.at(harness.log.end))
        harness.send([sample(number) for number in range(30, 40)], subscription)
        # Only the attempt under way holds the cursor, and only its answer can let it go.
        await eventually(lambda: harness.ledger.count()[0] == 0)
        assert harness.ledger.cursor() == LogPosition.at(0)
        gate.open()
        await eventually(harness.settled)
        assert sink.ids == ["0"]
    assert harness.ledger.count() == (0, 0)


async def test_a_retry_for_a_deleted_subscription_is_dropped(harness, monkeypatch):
    monkeypatch.setattr(follower_module, "_REFRESH_SECONDS", 0.01)
    async with RawSink(lambda _: answer(500)) as sink, harness.delivering(backoff_seconds=1.5):
        subscription = harness.subscribe(sink.url)
        harness.send([sample(1)], subscription)
        await eventually(lambda: harness.ledger.count()[0] == 1)
        harness.store.delete(subscription, lambda: LogPosition.at(harness.log.end))
        await eventually(harness.settled)
        assert len(sink.requests) == 1
    assert harness.ledger.count() == (0, 0)


async def test_an_unknown_subscription_holds_up_nobody(harness, sink):
    async with harness.delivering():
        harness.send([sample(1)], "00000000-0000-4000-8000-000000000000", harness.subscribe(sink.url))
        await eventually(harness.settled)
    assert sink.ids == ["1"]


async def test_a_subscription_made_while_running_gets_its_events_at_once(harness, sink):
    async with harness.delivering():
        harness.send([sample(1)], harness.subscribe(sink.url + "/a"))
        await eventually(harness.settled)
        harness.send([sample(2)], harness.subscribe(sink.url + "/b"))
        await eventually(harness.settled)
    assert [(request.target, request["ce-id"]) for request in sink.requests] == [("/a", "1"), ("/b", "2")]


async def test_the_cursor_never_passes_what_is_not_settled(harness):
    gate = Gate("7")
    async with RawSink(gate) as sink, harness.delivering():
        subscription = harness.subscribe(sink.url)
        for start in (0, 5, 10, 15):
            harness.send([sample(start + offset) for offset in range(5)], subscription)
        await eventually(lambda: len(sink.requests) == 20 and harness.ledger.cursor() == LogPosition.at(7))
        harness.send([sample(20)], subscription)
        await eventually(lambda: len(sink.requests) == 21)
        assert harness.ledger.cursor() == LogPosition.at(7)
        gate.open()
        await eventually(harness.settled)
    assert len(sink.requests) == 21


async def test_what_waits_keeps_its_events(tmp_path, database_url):
    """The cursor goes on, retention runs, and the event of a retry is still there."""
    harness = Harness(tmp_path, database_url, segment_bytes=1)  # a segment per commit
    heal = asyncio.Event()
    keep_nothing = LogSettings("local", 1, 1, retention_seconds=-1.0, retention_bytes=0)
    async with (
        RawSink(lambda request: answer(200 if request["ce-id"] != "3" or heal.is_set() else 500)) as sink,
        harness.delivering(retries=1000, backoff_max_seconds=0.02) as dispatcher,
    ):
        subscription = harness.subscribe(sink.url)
        for number in range(8):
            harness.send([sample(number)], subscription)
        await eventually(lambda: harness.ledger.cursor() == LogPosition.at(8))
        assert dispatcher.settled() == LogPosition.at(3)
        LocalOutboxReader(tmp_path / "outbox").drop(harness.ledger.cursor())
        expire_segments(tmp_path / "log", dispatcher.settled(), keep_nothing)
        assert list_segments(tmp_path / "log")[0].first == 3
        heal.set()
        await eventually(lambda: harness.settled() and dispatcher.settled() == LogPosition.at(8))
    harness.close()


class MovingLedger(Ledger):
    """A ledger in which a delivery is set aside, and passed by the cursor, between any two looks at it."""

    def move(self, result):
        self.commit(Changes([Wait(Key("a", 3), 1, 9.0, "why")], [], [], None))
        self.commit(Changes([], [], [], LogPosition.at(10)))
        return result

    def cursor(self):
        return self.move(super().cursor())

    def needed_before(self, cut):
        return self.move(super().needed_before(cut))


async def test_an_event_that_comes_to_wait_at_this_moment_is_not_called_settled(harness):
    ledger = Ledger(Database(harness.database_url))
    sender = HttpSender(LOOPBACK)
    dispatcher = harness.dispatcher(ledger, sender, delivery_settings())
    dispatcher._ledger.ledger = MovingLedger(ledger.database)
    assert dispatcher.settled() <= LogPosition.at(3)
    await sender.close()
    ledger.database.close()


@pytest.mark.timeout(20)
async def test_an_outbox_that_begins_behind_the_cursor_does_not_stop_the_loop(tmp_path, harness, sink):
    """Its first positions are covered by no file: they went with the old segments of the log."""
    harness.record([sample(number) for number in range(5)])
    harness.outbox.close()
    harness.outbox = LocalOutboxWriter(tmp_path / "outbox", begin=LogPosition.at(5))
    async with harness.delivering():
        await asyncio.sleep(0.05)
        harness.send([sample(5)], harness.subscribe(sink.url))
        await eventually(harness.settled)
    assert sink.ids == ["5"]


async def test_a_stop_lets_attempts_under_way_finish(harness):
    gate = Gate()
    async with RawSink(gate) as sink:
        async with harness.delivering(concurrency=3):
            harness.send([sample(number) for number in range(10)], harness.subscribe(sink.url))
            await eventually(lambda: len(sink.requests) == 3)
            asyncio.get_running_loop().call_later(0.05, gate.open)
        assert len(sink.requests) == 3, "nothing is begun after the stop"
    assert harness.ledger.cursor() == LogPosition.at(10), "the ledger has what was not begun"
    assert harness.ledger.count() == (7, 0)


async def test_a_stop_does_not_wait_for_ever(harness):
    async with (
        RawSink(lambda _: silence()) as sink,
        asyncio.timeout(5),
        harness.delivering(shutdown_seconds=0.1),
    ):
        subscription = harness.subscribe(sink.url)
        harness.send([sample(1)], subscription)
        await eventually(lambda: len(sink.requests) == 1)
    assert (harness.ledger.cursor(), harness.ledger.count()) == (LogPosition.at(1), (1, 0))
    assert [wait.attempts for wait in harness.ledger.in_order(subscription, 9)] == [0], "it is not counted"


async def test_what_is_given_up_during_a_stop_is_kept(harness):
    gate = asyncio.Event()

    async def refuse():
        await gate.wait()
        yield answer(400)

    async with RawSink(lambda _: refuse()) as sink, harness.delivering():
        harness.send([sample(1)], harness.subscribe(sink.url))
        await eventually(lambda: len(sink.requests) == 1)
        asyncio.get_running_loop().call_later(0.05, gate.set)
    assert harness.ledger.count() == (0, 1)
    assert harness.ledger.cursor() == LogPosition.at(1)


async def test_a_seek_drops_what_is_queued_and_what_waits_before_it(harness):
    """One attempt is under way, some deliveries are queued, one waits for another attempt."""
    gate = Gate("1")
    failing = answer(503)

    def reply(request):
        return failing if request["ce-id"] == "0" else gate(request)

    async with RawSink(reply) as sink, harness.delivering(concurrency=1, backoff_seconds=0.3, retries=1000):
        subscription = harness.subscribe(sink.url)
        harness.send([sample(number) for number in range(5)], subscription)
        await eventually(lambda: sorted(sink.ids) == ["0", "1"] and harness.ledger.count() == (1, 0))
        harness.store.go_live(subscription, LogPosition.at(4), lambda _: None)
        await eventually(lambda: harness.ledger.count()[0] == 0)
        gate.open()
        await eventually(harness.settled)
    assert sorted(sink.ids) == ["0", "1", "4"]


def _spoil(harness, text):
    path = next((harness.folder / "log").glob("*.seg"))
    content = bytearray(path.read_bytes())
    content[content.index(text)] ^= 1
    path.write_bytes(content)


async def test_what_the_log_lost_is_given_up_and_the_rest_is_delivered(harness, sink):
    """One that was planned, and one that waited for another attempt."""
    subscription = harness.subscribe(sink.url)
    for number in range(4):
        harness.record([sample(number)])
    _spoil(harness, b'"number": 0')
    _spoil(harness, b'"number": 2')
    harness.ledger.commit(Changes([Wait(Key(subscription, 0), 1, 0.0, "refused")], [], [], None))
    harness.plan(range(4), ((position, subscription) for position in (1, 2, 3)))
    async with harness.delivering():
        await eventually(lambda: harness.settled() and harness.ledger.count() == (0, 2))
    assert sorted(sink.ids_at("/")) == ["1", "3"]
    assert [(row.position, row.event) for row in dead(harness)] == [(0, b""), (2, b"")]
    assert {row.reason for row in dead(harness)} == {"its event can't be read from the log any more"}

"""Order by partition key: a key that keeps failing holds up nobody else, however much of it there is."""

from functools import partial

from tests.delivery.harness import eventually, sample
from tests.delivery.raw_sink import RawSink, answer

from headrace.subscriptions.delivery.spec import Ordering

BY_KEY = {"ordering": Ordering.PARTITIONKEY, "retry": 100_000, "concurrency": 4}
QUEUE = 40
QUICKLY = {"queue_length": QUEUE, "backoff_max_seconds": 0.05, "breaker_failures": 0}


class Sink:
    """Refuses the events of some keys, and takes down what it accepts."""

    def __init__(self, *refused):
        self.refused = set(refused)
        self.accepted: dict[str, list[int]] = {}

    def has(self, key, count):
        return len(self.accepted.get(key, ())) >= count

    def __call__(self, request):
        key = request["ce-partitionkey"]
        if key in self.refused:
            return answer(503)
        self.accepted.setdefault(key, []).append(int(request["ce-id"]))
        return answer(200)


def send(harness, numbers, subscription, key_of):
    harness.send([sample(each, partitionkey=key_of(each)) for each in numbers], subscription)


def third_is_bad(number):
    return "bad" if number % 3 == 0 else f"good{number % 3}"


def of(key, count, key_of=third_is_bad):
    return [each for each in range(count) if key_of(each) == key]


def good_ones(sink, count):
    return all(sink.accepted.get(key) == of(key, count) for key in ("good1", "good2"))


async def test_others_go_on_while_a_key_has_far_more_than_fits_the_queue(harness):
    mood = Sink("bad")
    async with RawSink(mood) as sink, harness.delivering(**QUICKLY):
        subscription = harness.subscribe(sink.url, BY_KEY)
        for start in range(0, 30 * QUEUE, 60):
            send(harness, range(start, start + 60), subscription, third_is_bad)
        await eventually(lambda: good_ones(mood, 30 * QUEUE))
        assert "bad" not in mood.accepted
        await eventually(lambda: harness.ledger.count()[0] == len(of("bad", 30 * QUEUE)))
        mood.refused.clear()
        await eventually(harness.settled)
    assert mood.accepted["bad"] == of("bad", 30 * QUEUE)


async def test_others_go_on_after_a_start_with_a_backlog_of_that_key(harness):
    mood = Sink("bad")
    count = 10 * QUEUE
    async with RawSink(mood) as sink:
        subscription = harness.subscribe(sink.url, BY_KEY)
        async with harness.crashing(**QUICKLY):
            send(harness, range(count // 2), subscription, third_is_bad)
            await eventually(lambda: good_ones(mood, count // 2))
        async with harness.delivering(**QUICKLY):
            send(harness, range(count // 2, count), subscription, third_is_bad)
            await eventually(
                lambda: all(set(mood.accepted[key]) == set(of(key, count)) for key in ("good1", "good2"))
            )
            mood.refused.clear()
            await eventually(harness.settled)
    first = {key: list(dict.fromkeys(numbers)) for key, numbers in mood.accepted.items()}
    assert first == {key: of(key, count) for key in ("bad", "good1", "good2")}


async def test_several_keys_that_fail_and_recover_one_by_one_keep_their_order(harness):
    def key_of(number):
        return f"k{number % 8}"

    mood = Sink(*(f"k{number}" for number in range(6)))
    count = 20 * QUEUE
    async with RawSink(mood) as sink, harness.delivering(**QUICKLY):
        subscription = harness.subscribe(sink.url, BY_KEY)
        for start in range(0, count // 2, 40):
            send(harness, range(start, start + 40), subscription, key_of)
        await eventually(lambda: mood.has("k7", len(of("k7", count // 2, key_of))))
        for number in range(6):
            mood.refused.discard(f"k{number}")
            await eventually(partial(mood.has, f"k{number}", QUEUE))
        for start in range(count // 2, count, 40):
            send(harness, range(start, start + 40), subscription, key_of)
        await eventually(harness.settled)
    assert mood.accepted == {f"k{number}": of(f"k{number}", count, key_of) for number in range(8)}


async def test_what_an_older_version_left_without_keys_stays_in_line(harness):
    """Rows without a key may be of any order: none of the others overtakes them."""
    mood = Sink("bad")
    async with RawSink(mood) as sink:
        subscription = harness.subscribe(sink.url, BY_KEY)
        async with harness.crashing(**QUICKLY):
            send(harness, range(90), subscription, third_is_bad)
            await eventually(lambda: good_ones(mood, 90))
        with harness.ledger.database.writing() as connection:
            connection.exec_driver_sql("UPDATE waiting SET order_key = NULL")
        async with harness.delivering(**QUICKLY):
            send(harness, range(90, 120), subscription, third_is_bad)
            mood.refused.clear()
            await eventually(harness.settled)
    first = {key: list(dict.fromkeys(numbers)) for key, numbers in mood.accepted.items()}
    assert first == {key: of(key, 120) for key in ("bad", "good1", "good2")}


async def test_what_was_spilled_in_one_order_stays_in_line_when_keys_have_an_order(harness):
    """Its rows have no keys, those that are on their way to the ledger at the change neither."""
    mood = Sink("bad", "good1", "good2")
    async with RawSink(mood) as sink, harness.delivering(**QUICKLY) as dispatcher:
        subscription = harness.subscribe(sink.url, BY_KEY | {"ordering": Ordering.ORDERED})
        send(harness, range(90), subscription, third_is_bad)
        await eventually(lambda: dispatcher._progress.log.read()[0] == 90)
        harness.specs[subscription] = BY_KEY
        harness.store.wish(subscription, config={"changed": True})
        mood.refused -= {"good1", "good2"}
        send(harness, range(90, 180), subscription, third_is_bad)
        await eventually(lambda: dispatcher._queues.get(subscription).state.is_partitioned)
        await eventually(lambda: "good1" in mood.accepted)
        mood.refused.clear()
        await eventually(harness.settled)
    assert mood.accepted == {key: of(key, 180) for key in ("bad", "good1", "good2")}

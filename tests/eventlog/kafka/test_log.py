"""The log in Kafka, on a real broker."""

import asyncio
from dataclasses import replace
from itertools import chain, pairwise

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.eventlog.arrivals import arrival, arrivals

from headrace.errors import BrokerUnavailable, ConfigError, LogError, LogUnavailable, PayloadTooLarge
from headrace.eventlog.damage import Damage
from headrace.eventlog.kafka.reader import KafkaLogReader, skip
from headrace.eventlog.kafka.settings import KafkaSettings
from headrace.eventlog.kafka.topics import Topics, ensure_topics
from headrace.eventlog.kafka.writer import KafkaLogWriter
from headrace.events.batch import from_batch
from headrace.events.event import DataKind, Event
from headrace.events.positions import LogPosition, offset_of, partition_of, position_at
from headrace.events.recorded import Arrival

ATTRIBUTES = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
NOWHERE = KafkaSettings("127.0.0.1:1", ("e",), "o", 1, 1, 0.5, ())


@pytest.fixture
async def writer(settings):
    opened = KafkaLogWriter(settings, "here", 1 << 20)
    yield opened
    await opened.close()


@pytest.fixture
def reader(settings):
    opened = KafkaLogReader(settings)
    yield opened
    opened.close()


def read_all(reader, on_damage=skip):
    ranges = LogPosition().ranges_to(reader.end())
    return [each for span in ranges for batch in reader.read(*span, on_damage) for each in from_batch(batch)]


async def test_what_was_appended_is_read_as_it_was(writer, reader, settings):
    typed = Event(ATTRIBUTES | {"count": 3}, b'{"a": 1.50}', DataKind.JSON)
    one = Arrival(typed, "default", "orders", "00-trace", "state")
    other = Arrival(Event(ATTRIBUTES), "team-a", "default")
    positions = [await writer.append([each], 100) for each in (one, other)]
    found = {each.position: each.arrival for each in read_all(reader)}
    assert found == dict(zip(positions, [one, other], strict=True))
    topics = [Topics(settings).kafka_partition(partition_of(position))[0].name for position in positions]
    assert topics == [settings.topics[0], settings.topics[1].removeprefix("team-a=")]


async def test_a_key_keeps_its_order_and_keys_take_all_partitions(writer, reader):
    for number in range(40):
        event = Event(ATTRIBUTES | {"id": str(number), "partitionkey": f"k{number % 8}"})
        await writer.append([Arrival(event, "default", "default")], 100)
    found = read_all(reader)
    assert len({partition_of(each.position) for each in found}) == 2
    for key in range(8):
        ids = [each.event.id for each in found if each.event.attributes["partitionkey"] == f"k{key}"]
        assert ids == [str(number) for number in range(40) if number % 8 == key]


async def test_a_batch_is_seen_in_full_or_not_at_all(writer, reader):
    too_large = arrival("large", b"x" * (2 << 20))
    for request in ([*arrivals(range(20)), too_large], [too_large]):
        with pytest.raises(PayloadTooLarge, match=r"message\.max\.bytes"):
            await writer.append(request, 100)
    assert read_all(reader) == []
    await writer.append(arrivals("abc"), 100)
    await writer.append([arrival("d")], 100)
    assert sorted(each.event.id for each in read_all(reader)) == list("abcd")


async def test_requests_that_share_a_transaction_are_refused_one_by_one(writer, reader):
    """While the first is under way the others wait; one of them is too large for the broker."""
    requests = [arrivals(names) for names in ("ab", "cd", "ef", "gh")]
    requests[2].append(arrival("large", b"x" * (2 << 20)))
    answers = await asyncio.gather(*(writer.append(each, 10) for each in requests), return_exceptions=True)
    found = {each.event.id: each.position for each in read_all(reader)}
    assert isinstance(answers[2], PayloadTooLarge)
    assert sorted(found) == list("abcdgh")
    assert [answers[number] for number in (0, 1, 3)] == [found[name] for name in "acg"]


async def test_many_requests_share_few_transactions(writer, reader):
    await writer.append(arrivals("ab"), 10)  # connects
    before = sum(end - start for start, end in LogPosition().ranges_to(reader.end()))
    await asyncio.gather(*(writer.append(arrivals([f"{n}a", f"{n}b"]), 10) for n in range(50)))
    taken = sum(end - start for start, end in LogPosition().ranges_to(reader.end())) - before
    assert taken - 100 <= 4, "the marks of two transactions in two partitions"


async def test_what_was_fetched_beyond_a_range_is_kept_for_the_next(writer, reader):
    """Also where it has no data: a message of Kafka's client is false when it is empty."""
    for name in "abcdef":
        event = Event(ATTRIBUTES | {"id": name, "partitionkey": "k"})
        await writer.append([Arrival(event, "default", "default")], 10)
    ((first, last),) = LogPosition().ranges_to(reader.end())
    cuts = [first, first + 1, first + 3, last]
    found = [
        [each.event.id for batch in reader.read(*span) for each in from_batch(batch)]
        for span in pairwise(cuts)
    ]
    assert found == [["a"], ["b", "c"], ["d", "e", "f"]]


async def test_what_is_fetched_twice_is_read_once(writer, reader):
    for name in "abcd":
        event = Event(ATTRIBUTES | {"id": name, "partitionkey": "k"})
        await writer.append([Arrival(event, "default", "default")], 10)
    ((first, last),) = LogPosition().ranges_to(reader.end())
    partition = reader._reader_of(partition_of(first))
    messages = list(chain.from_iterable(partition.read(offset_of(first), offset_of(last))))
    partition._begin(offset_of(first))
    partition._held.extend([*messages[:3], *messages[1:]])
    found = [each.event.id for batch in reader.read(first, last) for each in from_batch(batch)]
    assert found == list("abcd")


async def test_reading_any_part(writer, reader):
    """Marks of transactions take offsets and hold no event; a reader goes on, goes back, and ends in a gap."""
    for names in ("abc", "d", "ef"):
        batch = [
            Arrival(Event(ATTRIBUTES | {"id": name, "partitionkey": "k"}), "default", "default")
            for name in names
        ]
        await writer.append(batch, 10)
    end = reader.end()
    ((first, last),) = LogPosition().ranges_to(end)
    assert last - first == 8, "six events and the marks of two transactions"
    everything = {each.position: each.event.id for each in read_all(reader)}
    assert "".join(everything.values()) == "abcdef"
    for start in range(first, last):
        for stop in range(start, last + 1):
            found = [each.event.id for batch in reader.read(start, stop) for each in from_batch(batch)]
            assert found == [name for at, name in everything.items() if start <= at < stop]


async def test_what_another_process_read_is_passed_over(writer, reader, settings):
    """Also where Kafka removed it meanwhile."""
    for name in "abcdefgh":
        event = Event(ATTRIBUTES | {"id": name, "partitionkey": "k"})
        await writer.append([Arrival(event, "default", "default")], 10)
    ((first, _),) = LogPosition().ranges_to(reader.end())

    def found(start, end):
        return [
            each.event.id for batch in reader.read(first + start, first + end) for each in from_batch(batch)
        ]

    assert found(0, 2) == ["a", "b"]
    assert found(5, 6) == ["f"]
    assert found(2, 4) == ["c", "d"]
    reader.close()
    assert found(0, 1) == ["a"]
    topic, kafka_partition = Topics(settings).kafka_partition(partition_of(first))
    place = TopicPartition(topic.name, kafka_partition, 6)
    administrator = AdminClient({"bootstrap.servers": settings.bootstrap})
    for removed in administrator.delete_records([place]).values():
        removed.result()
    assert found(7, 8) == ["h"]


async def test_records_of_other_producers(reader, settings, broker):
    shared, own = settings.topics[0], settings.topics[1].removeprefix("team-a=")
    binary = [("ce_" + name, value) for name, value in ATTRIBUTES.items()]
    elsewhere = [*binary, ("headrace-namespace", "team-b"), ("headrace-channel", "orders")]
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(shared, b"plain", headers=binary, partition=0)
    producer.produce(shared, b"not an event", partition=0)
    producer.produce(shared, None, headers=elsewhere, partition=0)
    producer.produce(own, b"x", headers=elsewhere, partition=0)
    producer.flush()
    told: list[Damage] = []
    everything = read_all(reader, on_damage=told.append)
    found = [(each.arrival.namespace, each.arrival.channel, each.event.data) for each in everything]
    assert found == [
        ("default", "default", b"plain"),
        ("team-b", "orders", None),
        ("team-a", "orders", b"x"),
    ]
    assert [(each.start, each.offset) for each in told] == [(1, 1)]
    assert "no event" in told[0].problem


def test_what_is_no_longer_kept_is_told(reader, settings):
    with pytest.raises(LogError, match="no longer kept"):
        list(reader.read(position_at(0, 5), position_at(0, 9)))


async def test_memory_is_bounded(settings):
    writer = KafkaLogWriter(settings, "small", 100)
    held = asyncio.create_task(writer.append([arrival("a")], 1000))
    await asyncio.sleep(0)
    with pytest.raises(LogUnavailable, match="wait to be stored"):
        await writer.append([arrival("b")], 1)
    await held
    await writer.close()
    with pytest.raises(LogUnavailable, match="shutting down"):
        await writer.append([arrival("c")], 1)


@pytest.mark.parametrize("names", ["a", "ab"], ids=["alone", "in a transaction"])
async def test_what_nobody_waits_for_any_more_still_takes_memory(names):
    writer = KafkaLogWriter(NOWHERE, "small", 100)
    given_up = asyncio.create_task(writer.append(arrivals(names), 60))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait([given_up])
    with pytest.raises(LogUnavailable, match="60 bytes wait to be stored"):
        await writer.append([arrival("c")], 41)
    await writer.close()
    assert given_up.cancelled()


async def test_a_broker_that_is_killed_and_comes_back(writer, reader, broker):
    await writer.append(arrivals("abc"), 10)
    broker.kill()
    await asyncio.to_thread(broker.start)
    stored = ["a", "b", "c"]
    for names in (["d"], ["e", "f"]):
        for _ in range(20):
            try:
                await writer.append(arrivals(names), 10)
            except LogError:
                await asyncio.sleep(0.2)
            else:
                stored += names
                break
    found = [each.event.id for each in read_all(reader)]
    assert len(stored) == 6
    assert set(found) == set(stored)
    assert [found.count(each) for each in "abcef"] == [1] * 5, "nothing of a transaction is there twice"


async def test_no_broker():
    with pytest.raises(BrokerUnavailable, match=r"127\.0\.0\.1:1"):
        ensure_topics(NOWHERE)
    writer = KafkaLogWriter(NOWHERE, "nowhere", 1000)
    with pytest.raises(LogUnavailable, match="isn't known whether"):
        await writer.append([arrival("a")], 1)
    with pytest.raises(LogError):
        await writer.append(arrivals("ab"), 1)
    await writer.close()


def test_a_topic_that_the_brokers_don_t_know(settings):
    """Without its partitions the log would seem to end where it begins."""
    reader = KafkaLogReader(replace(settings, topics=("nobody-made-it",)))
    with pytest.raises(BrokerUnavailable, match="nobody-made-it"):
        reader.end()


@pytest.mark.parametrize("topics", [(), ("a", "a"), ("a", "n=a"), ("outbox",)])
def test_topics_that_clash(topics):
    with pytest.raises(ConfigError, match=r"kafka\.topics"):
        Topics(KafkaSettings("", topics, "outbox", 1, 1, 1.0, ()))


def test_a_namespace_without_a_topic():
    topics = Topics(KafkaSettings("", ("team-a=a",), "outbox", 1, 1, 1.0, ()))
    assert topics.of("team-a").name == "a"
    with pytest.raises(ConfigError, match="team-b"):
        topics.of("team-b")

"""Programs that know Kafka and CloudEvents and nothing of Headrace, on the topics of the log: they read, and they write."""

from contextlib import closing
from typing import Any

import pytest
from cloudevents.core.bindings import kafka as sdk
from cloudevents.core.formats.json import JSONFormat
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.eventlog.kafka.conftest import eventually
from tests.eventlog.kafka.test_archive import remove
from tests.eventlog.kafka.test_log import ATTRIBUTES, read_all

from headrace.eventlog.damage import Damage
from headrace.eventlog.kafka.reader import KafkaLogReader
from headrace.eventlog.kafka.writer import KafkaLogWriter
from headrace.eventlog.log import read_remaining
from headrace.events.batch import from_batch
from headrace.events.event import DataKind, Event
from headrace.events.positions import LogPosition
from headrace.events.recorded import Arrival

BINARY = [("ce_" + name, value) for name, value in ATTRIBUTES.items()]
JSON = ("content-type", "application/cloudevents+json; charset=utf-8")
DOCUMENT = b'{"specversion":"1.0","id":"s","source":"/s","type":"t","data":{"a":1}}'

EVENTS: dict[str, tuple[list[tuple[str, Any]], bytes | None, bytes | None]] = {
    "binary": (BINARY, b"x", b"x"),
    "names in capitals": ([(name.upper(), value) for name, value in BINARY], b"x", b"x"),
    "without data": (BINARY, None, None),
    "empty data": (BINARY, b"", b""),
    "headers that mean nothing here": ([*BINARY, ("x", None), ("y", b"\xff")], b"x", b"x"),
    "very large headers": ([*BINARY, ("ce_large", "x" * 200_000), ("y", b"y" * 200_000)], b"x", b"x"),
    "very many headers": ([*BINARY, *((f"ce_x{number}", "x") for number in range(500))], b"x", b"x"),
    "structured": ([JSON], DOCUMENT, b'{"a":1}'),
    "structured, with attributes in headers": ([JSON, *BINARY], DOCUMENT, b'{"a":1}'),
}
BROKEN: dict[str, tuple[list[tuple[str, Any]], bytes | None, str]] = {
    "a tombstone": ([], None, "specversion"),
    "no headers": ([], b"no event at all", "specversion"),
    "an attribute is missing": (BINARY[:-1], b"x", "type"),
    "an unknown version": ([*BINARY[1:], ("ce_specversion", "9.9")], b"x", "9.9"),
    "an attribute twice": ([*BINARY, ("ce_id", "2")], b"x", "more than once"),
    "an attribute that is no text": ([*BINARY, ("ce_subject", b"\xff")], b"x", "ce_subject"),
    "a time that is none": ([*BINARY, ("ce_time", "yesterday")], b"x", "time"),
    "structured, and no JSON": ([JSON], b"{", "JSON"),
    "structured, and null": ([JSON], None, "empty"),
    "a batch": ([("content-type", "application/cloudevents-batch+json")], b"[]", "one event per record"),
    "another format": ([("content-type", "application/cloudevents+protobuf")], b"x", "protobuf"),
}


@pytest.fixture
def reader(settings):
    with closing(KafkaLogReader(settings)) as opened:
        yield opened


@pytest.fixture
async def writer(settings):
    opened = KafkaLogWriter(settings, "here", 1 << 20)
    yield opened
    await opened.close()


@pytest.fixture
def produce(settings):
    producer = Producer({"bootstrap.servers": settings.bootstrap, "partitioner": "murmur2_random"})

    def send(headers, value, **options):
        producer.produce(settings.topics[0], value, headers=headers, **options)
        assert producer.flush(10) == 0

    return send


def test_what_is_an_event_is_read_and_what_is_none_is_told_with_its_reason(reader, produce):
    """One after the other, in one partition: the stream goes on behind each of them."""
    for headers, value, _ in (*EVENTS.values(), *BROKEN.values()):
        produce(headers, value, partition=0)
    produce(BINARY, b"the last one", partition=0)
    told: list[Damage] = []
    found = [each.event.data for each in read_all(reader, told.append)]
    assert found == [*(data for _, _, data in EVENTS.values()), b"the last one"]
    assert [each.offset for each in told] == list(range(len(EVENTS), len(EVENTS) + len(BROKEN)))
    for damage, (name, (_, _, reason)) in zip(told, BROKEN.items(), strict=True):
        assert reason in damage.reason(), name
        assert f"record {damage.offset} of partition 0 of topic" in damage.reason()


def test_what_another_program_aborted_is_never_read(reader, produce, settings):
    """Its records and the marks of its transactions leave gaps."""
    other = Producer({"bootstrap.servers": settings.bootstrap, "transactional.id": settings.topics[0]})
    other.init_transactions(30)
    produce(BINARY, b"before", partition=0)
    for is_wanted in (False, True, False):
        other.begin_transaction()
        for number in range(3):
            other.produce(settings.topics[0], b"%d" % number, headers=BINARY, partition=0)
        other.flush()
        (other.commit_transaction if is_wanted else other.abort_transaction)(30)
    produce(BINARY, b"behind", partition=0)
    told: list[Damage] = []
    expected = [b"before", b"0", b"1", b"2", b"behind"]
    eventually(lambda: [each.event.data for each in read_all(reader)] == expected)
    assert [each.event.data for each in read_all(reader, told.append)] == expected
    assert told == []
    assert reader.end()[0] == 14, "eleven records, and three marks"


def test_what_kafka_removed_is_told_and_the_rest_is_read(reader, produce, settings):
    for number in range(6):
        produce(BINARY, b"%d" % number, partition=0)
    ((start, end),) = LogPosition().ranges_to(reader.end())
    remove(settings, start + 4)
    told: list[Damage] = []
    found = [each for batch in read_remaining(reader, start, end, told.append) for each in from_batch(batch)]
    assert [each.event.data for each in found] == [b"4", b"5"]
    assert [(each.start - start, each.end - start) for each in told] == [(0, 4)]
    assert "no longer kept" in told[0].reason()
    told.clear()
    assert list(read_remaining(reader, start, start + 2, told.append)) == [], "all of it is gone"
    assert [(each.start - start, each.end - start) for each in told] == [(0, 2)]


def consumed(settings, count):
    """What any program gets that reads the first topic."""
    options = {"group.id": "other", "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    with closing(Consumer({"bootstrap.servers": settings.bootstrap, **options})) as consumer:
        places = [TopicPartition(settings.topics[0], number, 0) for number in range(settings.partitions)]
        consumer.assign(places)
        return consumer.consume(count, 30)


async def test_the_official_sdk_reads_what_is_written_here(settings, writer):
    attributes = {
        **ATTRIBUTES,
        "subject": "ä 100%",
        "partitionkey": "k 1",
        "datacontenttype": "application/json",
    }
    await writer.append([Arrival(Event(attributes, b'{"a": 1}', DataKind.JSON), "default", "orders")], 10)
    (record,) = consumed(settings, 1)
    assert record.key() == b"k 1"
    message = sdk.KafkaMessage(dict(record.headers()), record.key(), record.value())
    event = sdk.from_binary(message, JSONFormat())
    assert event.get_attributes().items() >= attributes.items()
    assert event.get_data() == {"a": 1}


async def test_a_key_has_one_partition_whoever_writes_it(settings, writer, produce):
    """Java's producers deal keys out like this. Without `partitionkey`, a key is the source and the subject."""
    for number in range(4):
        for attributes in ({"partitionkey": f"k{number}"}, {"subject": f"s{number}"}):
            await writer.append([Arrival(Event(ATTRIBUTES | attributes), "default", "default")], 10)
        for key in (f"k{number}", f"/s\ns{number}"):
            produce(BINARY, None, key=key)
    found = {(each.key(), each.partition()) for each in consumed(settings, 16)}
    assert len(found) == len({key for key, _ in found}) == 8
    assert {partition for _, partition in found} == {0, 1}

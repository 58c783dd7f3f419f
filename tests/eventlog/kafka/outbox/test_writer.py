"""The outbox in Kafka, on a real broker."""

import threading
from contextlib import closing
from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, TopicPartition
from tests.eventlog.kafka.conftest import eventually

from headrace.errors import BrokerUnavailable, LogLocked, OutboxGap
from headrace.eventlog.kafka.clients import consumer
from headrace.eventlog.kafka.outbox import reader as sharing
from headrace.eventlog.kafka.outbox import writer as outbox
from headrace.eventlog.kafka.outbox.reader import KafkaOutboxReader, OutboxGroup
from headrace.eventlog.kafka.outbox.writer import Coverage, KafkaOutboxWriter
from headrace.eventlog.pairs import encode_pairs
from headrace.events.positions import LogPosition, position_at

OTHER = position_at(1, 0)
NAMES = [f"subscription-{number}" for number in range(6)]


def pairs(start, end, partition=0):
    rows = [(position_at(partition, offset), name) for offset in range(start, end) for name in NAMES]
    return pa.table({"position": [row[0] for row in rows], "subscription": [row[1] for row in rows]})


def rows(*tables):
    return sorted(
        row
        for table in tables
        for row in zip(table["position"].to_pylist(), table["subscription"].to_pylist(), strict=True)
    )


def committed(settings):
    """Everything that the outbox holds, by a program of its own."""
    found = []
    ends: set[int] = set()
    with closing(consumer(settings)) as opened:
        opened.assign([TopicPartition(settings.outbox, number, 0) for number in range(settings.partitions)])
        while len(ends) < settings.partitions:
            message = opened.poll(1)
            if message is None:
                continue
            if message.error() is None:
                found.append(outbox.read_outbox_record(message).pairs)
            else:
                assert message.error().code() == KafkaError._PARTITION_EOF
                ends.add(message.partition())
    return rows(*found)


class Member:
    """A dispatcher's place in the group; it drains whatever share it is given."""

    def __init__(self, settings, patience=20.0):
        self.changed = threading.Event()
        self.group = OutboxGroup(settings, self.changed.set, patience)

    @property
    def own(self):
        return self.group.assignment.partitions.own

    def reader(self, cursors=None):
        return KafkaOutboxReader(self.group, self.group.assignment, cursors or {})


def drain(reader, until, start=None):
    """Read until a cut is covered; the pairs, each time in order of position."""
    found, reached = [], start or LogPosition()

    def read():
        nonlocal reached
        for end, table in reader.read(reached):
            positions = table["position"].to_pylist()
            assert positions == sorted(positions)
            found.append(table)
            reached = end
        return until <= reached

    eventually(read)
    return rows(*found)


@pytest.fixture
def coverage(settings):
    with closing(Coverage(settings)) as opened:
        yield opened


@pytest.fixture
def join(settings):
    members = []

    def make(**options):
        members.append(Member(settings, **options))
        return members[-1]

    yield make
    for member in members:
        member.group.close()


def test_what_was_committed_last_is_covered(settings, coverage):
    writer = KafkaOutboxWriter(settings, LogPosition.at(2))
    assert (writer.covered(), coverage.position()) == (LogPosition.at(2), LogPosition.at(2))
    assert writer.write(LogPosition.at(2), LogPosition.at(5, OTHER + 3), pairs(2, 5)) == 3 * len(NAMES)
    assert writer.write(LogPosition.at(2), LogPosition.at(5), pairs(2, 5)) == 0
    with pytest.raises(OutboxGap):
        writer.write(LogPosition.at(6), LogPosition.at(7), pairs(6, 7))
    assert writer.write(LogPosition.at(4), LogPosition.at(7), pairs(4, 7)) == 2 * len(NAMES), (
        "what overlaps is planned once"
    )
    for again in (writer, KafkaOutboxWriter(settings)):
        assert again.covered() == LogPosition.at(7, OTHER + 3)
    assert coverage.position() == LogPosition.at(7, OTHER + 3), (
        "a new writer sees to it that what was committed is seen"
    )


def test_a_driver_that_was_replaced_commits_nothing_more(settings, coverage):
    zombie = KafkaOutboxWriter(settings)
    zombie.write(LogPosition(), LogPosition.at(3), pairs(0, 3))
    driver = KafkaOutboxWriter(settings)
    driver.write(LogPosition.at(3), LogPosition.at(5), pairs(3, 5))
    for _ in range(2):
        with pytest.raises(LogLocked):
            zombie.write(LogPosition.at(3), LogPosition.at(9), pairs(3, 9))
    driver.write(LogPosition.at(5), LogPosition.at(6), pairs(5, 6))
    eventually(lambda: coverage.position() == LogPosition.at(6))


def test_a_range_that_failed_is_planned_once(settings, monkeypatch, join):
    writer = KafkaOutboxWriter(settings)
    calls = []

    def fail(table, **options):
        calls.append(table)
        if len(calls) == 2:
            raise MemoryError
        return encode_pairs(table, **options)

    monkeypatch.setattr(outbox, "encode_pairs", fail)
    with pytest.raises(MemoryError):
        writer.write(LogPosition(), LogPosition.at(3), pairs(0, 3))
    assert writer.covered() == LogPosition()
    writer.write(LogPosition(), LogPosition.at(4), pairs(0, 4))
    member = join()
    eventually(lambda: member.own == {0, 1})
    assert drain(member.reader(), LogPosition.at(4)) == rows(pairs(0, 4))


def test_a_share_that_is_too_large_for_a_record_is_cut(settings, monkeypatch, join):
    monkeypatch.setattr(outbox, "_PAIRS_PER_RECORD", 4)
    writer = KafkaOutboxWriter(settings)
    writer.write(LogPosition(), LogPosition.at(5), pairs(0, 5))
    assert KafkaOutboxWriter(settings).covered() == LogPosition.at(5)
    member = join()
    eventually(lambda: member.own == {0, 1})
    assert drain(member.reader(), LogPosition.at(5)) == rows(pairs(0, 5))


def test_a_share_that_is_ahead_is_not_read_twice(settings, join):
    writer = KafkaOutboxWriter(settings)
    for start in (0, 3):
        writer.write(LogPosition.at(start), LogPosition.at(start + 3), pairs(start, start + 3))
    member = join()
    eventually(lambda: member.own == {0, 1})
    shares = member.group.assignment.partitions
    found = drain(member.reader({0: LogPosition.at(4)}), LogPosition.at(6))
    assert found == [row for row in rows(pairs(0, 6)) if shares.of(row[1]) == 1 or row[0] >= 4]


def test_a_change_of_the_group_hands_over_without_loss(settings, join):
    """The first gives up a share only after it said that nothing is under way; the second goes on there."""
    writer = KafkaOutboxWriter(settings)
    writer.write(LogPosition(), LogPosition.at(3), pairs(0, 3))
    first = join()
    eventually(lambda: first.own == {0, 1})
    reader = first.reader()
    assert drain(reader, LogPosition.at(3)) == rows(pairs(0, 3))
    reader.drop(LogPosition.at(3))
    second = join()
    eventually(lambda: first.own == set())
    assert second.own == set(), "nobody has the shares before they are released"
    first.group.release()
    eventually(lambda: len(first.own) == len(second.own) == 1)
    writer.write(LogPosition.at(3), LogPosition.at(5), pairs(3, 5))
    cursors = {0: LogPosition.at(3), 1: LogPosition.at(3)}
    parts = [drain(each.reader(cursors), LogPosition.at(5), LogPosition.at(3)) for each in (first, second)]
    assert sorted(parts[0] + parts[1]) == rows(pairs(3, 5))
    assert {row[1] for row in parts[0]}.isdisjoint({row[1] for row in parts[1]})


def test_a_member_that_was_full_reads_on_after_a_change_of_the_group(settings, join, monkeypatch):
    """It had stopped fetching what it has to give up, and gets a part of it again."""
    monkeypatch.setattr(sharing, "_MOST_WAITING", 4)
    writer = KafkaOutboxWriter(settings)
    for start in range(8):
        writer.write(writer.covered(), LogPosition.at(start + 1), pairs(start, start + 1))
    first = join()
    eventually(lambda: first.group._is_paused)
    second = join()
    eventually(lambda: first.own == set())
    first.group.release()
    eventually(lambda: len(first.own) == len(second.own) == 1)
    parts = [drain(each.reader(), LogPosition.at(8)) for each in (first, second)]
    assert sorted(parts[0] + parts[1]) == rows(pairs(0, 8))


def test_a_driver_that_is_not_seen_in_time_has_not_been_replaced(settings, monkeypatch):
    """To be replaced is a reason to end for good, and brokers that take their time are none."""
    monkeypatch.setattr(Coverage, "driver", lambda _: "the one before")
    clock = count(step=settings.timeout_seconds)
    monkeypatch.setattr(outbox, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with pytest.raises(BrokerUnavailable, match="can't be read in time"):
        KafkaOutboxWriter(settings)


def test_a_topic_that_the_brokers_don_t_know_has_no_shares(settings):
    """A driver would plan nothing for any of them."""
    with pytest.raises(BrokerUnavailable, match="nobody-made-it"):
        outbox.count_outbox_partitions(replace(settings, outbox="nobody-made-it"))


def test_what_is_drained_is_removed_and_what_is_covered_is_not_forgotten(settings, join):
    writer = KafkaOutboxWriter(settings)
    for start in (0, 3, 6):
        writer.write(LogPosition.at(start), LogPosition.at(start + 3), pairs(start, start + 3))
    member = join()
    eventually(lambda: member.own == {0, 1})
    reader = member.reader()
    drain(reader, LogPosition.at(9))
    reader.drop(LogPosition.at(9))
    with closing(consumer(settings)) as asking:
        # Each range is a record and the mark of its transaction; the first share has that of the driver's start, too.
        starts = {TopicPartition(settings.outbox, share): 6 - 2 * share for share in (0, 1)}
        eventually(
            lambda: all(asking.get_watermark_offsets(place)[0] == start for place, start in starts.items())
        )
    with closing(Coverage(settings)) as anew:
        assert anew.position() == LogPosition.at(9)
    assert KafkaOutboxWriter(settings).covered() == LogPosition.at(9)

"""The backlog of the outbox in Kafka: what dispatchers have still to drain.

They remove drained records, all but the last. So everything between the first record of a partition and the last one
waits, and each record says how many deliveries were planned up to it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from confluent_kafka import TopicPartition

from headrace.errors import BrokerUnavailable
from headrace.eventlog.kafka.clients import consumer
from headrace.eventlog.kafka.offsets import Offsets
from headrace.eventlog.kafka.outbox.writer import count_outbox_partitions, read_outbox_record

if TYPE_CHECKING:
    from headrace.eventlog.kafka.settings import KafkaSettings

_BYTES_PER_PAIR = 50
# Only the first record is wanted.
_FEW = {"queued.min.messages": 1, "queued.max.messages.kbytes": 1024}


class OutboxBacklog:
    """Reads the first record of each partition of the outbox. For one thread."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._partitions = [
            TopicPartition(settings.outbox, partition)
            for partition in range(count_outbox_partitions(settings))
        ]
        self._offsets = Offsets(settings)
        self._consumer = consumer(settings, **_FEW)
        self._drained: dict[tuple[int, int], int | None] = {}

    def size(self, planned: int) -> int:
        """Return the approximate size of the longest backlog, given how many deliveries were planned in all."""
        starts = self._offsets.starts(self._partitions)
        kept = {(each.partition, start) for each, start in zip(self._partitions, starts, strict=True)}
        # The first record of a partition stays the first until it is removed.
        known = {at: self._drained[at] for at in kept if self._drained.get(at) is not None}
        self._drained = known | {at: self._planned_at(*at) for at in kept - known.keys()}
        drained = min((each for each in self._drained.values() if each is not None), default=planned)
        return max(planned - drained, 0) * _BYTES_PER_PAIR

    def _planned_at(self, partition: int, start: int) -> int | None:
        """Return how many deliveries were planned up to the first record of a partition; None if it has none."""
        self._consumer.assign([TopicPartition(self._settings.outbox, partition, start)])
        try:
            return self._first_planned()
        finally:
            self._consumer.unassign()

    def _first_planned(self) -> int | None:
        deadline = time.monotonic() + self._settings.timeout_seconds
        while time.monotonic() < deadline:
            message = self._consumer.poll(0.1)
            if message is None:
                continue
            error = message.error()
            if error is None:
                record = read_outbox_record(message)
                if record.covered is not None:
                    return record.planned
            # The partition is empty, or its first record was just removed: the next call finds the one behind it.
            elif error.code() in (error._PARTITION_EOF, error._AUTO_OFFSET_RESET, error.OFFSET_OUT_OF_RANGE):  # noqa: SLF001
                return None
            else:
                raise BrokerUnavailable(self._settings.bootstrap, error.str())
        raise BrokerUnavailable(self._settings.bootstrap, "no answer while reading the outbox")

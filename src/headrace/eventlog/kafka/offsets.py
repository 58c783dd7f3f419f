"""First and last offsets of topic partitions, as readers of committed records see them.

Requested over a separate connection: a broker answers the requests of a connection in turn, and over a consumer's
connection they would wait for the fetch that waits for records.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import confluent_kafka
from confluent_kafka import IsolationLevel
from confluent_kafka.admin import OffsetSpec

from headrace.eventlog.kafka.clients import administrator, explained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka import TopicPartition

    from headrace.eventlog.kafka.settings import KafkaSettings

_STALE = (
    confluent_kafka.KafkaError.FENCED_LEADER_EPOCH,
    confluent_kafka.KafkaError.UNKNOWN_LEADER_EPOCH,
    confluent_kafka.KafkaError.NOT_LEADER_FOR_PARTITION,
)
_PAUSE = 0.05


class Offsets:
    """For one thread. All methods raise BrokerUnavailable."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._admin = administrator(settings)

    def starts(self, partitions: Sequence[TopicPartition]) -> list[int]:
        """Return the first offset that each partition still has."""
        return self._of(partitions, OffsetSpec.earliest())

    def ends(self, partitions: Sequence[TopicPartition]) -> list[int]:
        """Return the offset behind the last committed record of each partition."""
        return self._of(partitions, OffsetSpec.latest())

    def since(self, partitions: Sequence[TopicPartition], milliseconds: int) -> list[int]:
        """Return the offset of the first record of each partition that is not older, or its end if all are."""
        found = self._of(partitions, OffsetSpec.for_timestamp(milliseconds))
        return [end if at < 0 else at for at, end in zip(found, self.ends(partitions), strict=True)]

    def _of(self, partitions: Sequence[TopicPartition], which: OffsetSpec) -> list[int]:
        deadline = time.monotonic() + self._settings.timeout_seconds
        while True:
            try:
                return self._ask(partitions, which)
            except confluent_kafka.KafkaException as error:
                if error.args[0].code() not in _STALE or time.monotonic() > deadline:
                    raise explained(error, self._settings) from error
            # A broker came back and the client didn't notice, or a partition of a new topic has no leader yet.
            self._admin = administrator(self._settings)
            time.sleep(_PAUSE)

    def _ask(self, partitions: Sequence[TopicPartition], which: OffsetSpec) -> list[int]:
        answers = self._admin.list_offsets(
            {each: which for each in partitions},  # noqa: C420  the key is a mutable object
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=self._settings.timeout_seconds,
        )
        return [answers[each].result().offset for each in partitions]

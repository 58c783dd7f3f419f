"""Where partitions begin and end, as readers of committed records see it.

Asked over a connection of its own: a broker answers one connection's questions in turn, so that over a consumer's the
question would wait for the fetch that waits for records.
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
    """Any number of them in any process; one instance is for one thread. All raise BrokerUnavailable."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._admin = administrator(settings)

    def starts(self, places: Sequence[TopicPartition]) -> list[int]:
        """Return the first offset that each partition keeps."""
        return self._of(places, OffsetSpec.earliest())

    def ends(self, places: Sequence[TopicPartition]) -> list[int]:
        """Return the offset behind the last committed record of each partition."""
        return self._of(places, OffsetSpec.latest())

    def since(self, places: Sequence[TopicPartition], milliseconds: int) -> list[int]:
        """Return the offset of the first record of each partition that is not older, or its end where all are."""
        found = self._of(places, OffsetSpec.for_timestamp(milliseconds))
        return [end if at < 0 else at for at, end in zip(found, self.ends(places), strict=True)]

    def _of(self, places: Sequence[TopicPartition], which: OffsetSpec) -> list[int]:
        deadline = time.monotonic() + self._settings.timeout_seconds
        while True:
            try:
                return self._ask(places, which)
            except confluent_kafka.KafkaException as error:
                if error.args[0].code() not in _STALE or time.monotonic() > deadline:
                    raise explained(error, self._settings) from error
            # A broker came back, and the client doesn't notice; or a new topic's partition has no leader yet.
            self._admin = administrator(self._settings)
            time.sleep(_PAUSE)

    def _ask(self, places: Sequence[TopicPartition], which: OffsetSpec) -> list[int]:
        answers = self._admin.list_offsets(
            {place: which for place in places},  # noqa: C420  the key is a mutable object
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=self._settings.timeout_seconds,
        )
        return [answers[place].result().offset for place in places]

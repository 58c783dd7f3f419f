"""Remove events from Kafka that are no longer needed, if the log's topics are Headrace's own.

The pipeline does it: there is only one, and it knows the archive. The ledger knows what deliveries still need.
"""

from __future__ import annotations

import logging
from functools import reduce
from typing import TYPE_CHECKING

from headrace.eventlog.archive.retention import ArchiveLag
from headrace.eventlog.archive.storage import Storage
from headrace.events.positions import LogPosition
from headrace.service.upkeep.chores import Chore

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.config import Config
    from headrace.ledger.ledger import Ledger

_INTERVAL = 10.0
_log = logging.getLogger(__name__)


def shrinks(config: Config) -> bool:
    """Tell whether Headrace removes events from Kafka."""
    return config.log.kind == "kafka" and config.kafka.owned


def shrinking(config: Config, ledger: Ledger) -> Chore:
    """Periodically remove events that are settled, archived for a while, and past the log's retention."""
    return Chore("log removal", shrink(config, ledger), _INTERVAL, _failed)


def shrink(config: Config, ledger: Ledger) -> Callable[[object], None]:
    """Return a function that does it once."""
    from headrace.eventlog.kafka.outbox.writer import count_outbox_partitions  # optional dependency
    from headrace.eventlog.kafka.retention import KafkaRetention

    archived = (
        ArchiveLag(Storage(config.archive.path), config.archive.grace_seconds)
        if config.archive.enabled
        else None
    )
    removal = KafkaRetention(config.kafka, config.log.retention_seconds)
    shares = count_outbox_partitions(config.kafka)

    def turn(_: object) -> None:
        cursors = ledger.cursors()
        # In this order: a cursor passes a delivery only after the ledger has it.
        settled = ledger.needed_before(
            reduce(LogPosition.meet, (cursors.get(each, LogPosition()) for each in range(shares)))
        )
        removal.remove(settled if archived is None else settled.meet(archived.position()))

    return turn


def _failed(error: Exception) -> None:
    _log.warning("expired events can't be removed from Kafka now and are removed later: %s", error)

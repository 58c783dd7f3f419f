"""Transactions under one name: the last writer to open it goes on, and all earlier ones are fenced off."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import confluent_kafka

from headrace.errors import LogLocked
from headrace.eventlog.kafka.clients import explained, producer, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.eventlog.kafka.settings import KafkaSettings

_log = logging.getLogger(__name__)
_LEAST_SECONDS = 1.0  # the client takes no less


class Transactions:
    """For one thread at a time. The first transaction connects, and ends what an earlier writer left open.

    A writer that died holds up readers until the next one with its name begins, or until `longest` seconds have passed
    and the brokers have checked, which they do every ten seconds by default. The records of a transaction have
    `timeout_seconds` to be stored, and must not have longer.

    Brokers fence off a writer whose name another one has taken, and also one whose transaction took longer than
    allowed. The next transaction connects again, which fences off whoever has the name then: writers that share a name
    have to check that first.
    """

    def __init__(self, settings: KafkaSettings, name: str, longest: float, **options: Any) -> None:
        self._settings = settings
        self._name = name
        self._longest = max(longest, _LEAST_SECONDS)
        self._options = options
        self._producer: confluent_kafka.Producer | None = None

    def begin(self) -> None:
        """Connect, fence off every earlier writer of the name, and end what it left open."""
        if self._producer is None:
            client = producer(
                self._settings,
                **{"transactional.id": self._name, "transaction.timeout.ms": int(self._longest * 1000)},
                **self._options,
            )
            try:
                client.init_transactions(self._settings.timeout_seconds * 4)
            except confluent_kafka.KafkaException as error:
                # The client would go on trying, and fence off the next one; the error must not keep it alive.
                del client
                raise explained(error, self._settings) from error
            self._producer = client

    @contextmanager
    def transaction(self) -> Iterator[confluent_kafka.Producer]:
        """Commit everything that is produced inside, or nothing.

        Raise LogUnavailable where that failed, PayloadTooLarge where it always will, and LogLocked where the brokers
        have fenced this writer off.
        """
        self.begin()
        client = self._producer
        assert client is not None  # noqa: S101  begin() made it
        try:
            client.begin_transaction()
            yield client
            client.commit_transaction(self._settings.timeout_seconds * 2)
        except confluent_kafka.KafkaException as error:
            raise self._failed(client, error.args[0]) from error
        except BaseException:
            self._abort(client)
            raise

    def _failed(self, client: confluent_kafka.Producer, error: confluent_kafka.KafkaError) -> Exception:
        if error.code() in (error._FENCED, error.INVALID_PRODUCER_EPOCH, error.PRODUCER_FENCED):  # noqa: SLF001
            self._producer = None
            return LogLocked(f"the Kafka transactions of {self._name}", "one that began later")
        is_aborted = self._abort(client)
        if error.code() != error.MSG_SIZE_TOO_LARGE or not is_aborted:
            # Lost records leave a gap in this client's sequence numbers: only a new client can go on.
            self._producer = None
        return refusal(error, self._settings, is_certain=is_aborted)

    def _abort(self, client: confluent_kafka.Producer) -> bool:
        try:
            client.abort_transaction(self._settings.timeout_seconds)
        except confluent_kafka.KafkaException as error:
            _log.warning("can't abort a transaction, which ends by its timeout: %s", error.args[0].str())
            self._producer = None  # the next one connects again, which ends this one
            return False
        return True

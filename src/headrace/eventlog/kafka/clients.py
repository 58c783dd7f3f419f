"""Connections to the brokers, with what every client here has in common."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from headrace.errors import BrokerUnavailable, ConfigError, HeadraceError, LogUnavailable, PayloadTooLarge

if importlib.util.find_spec("confluent_kafka") is not None:
    import confluent_kafka
    from confluent_kafka import admin

if TYPE_CHECKING:
    from headrace.eventlog.kafka.settings import KafkaSettings

_CONSUMER = {
    "group.id": "headrace",  # needed, and used only by consumers that subscribe
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "isolation.level": "read_committed",
    "auto.offset.reset": "error",  # what is gone is told, never skipped
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 100,
    "queued.max.messages.kbytes": 16_384,
    "fetch.queue.backoff.ms": 5,  # a reader that has so much waiting looks again soon, not after a second
}
_LARGEST = "message.max.bytes"
_PRODUCER = {"acks": "all", "enable.idempotence": True, "compression.type": "lz4"}


def consumer(settings: KafkaSettings, **options: Any) -> confluent_kafka.Consumer:
    """Connect a reader: what no transaction has committed is never seen."""
    return confluent_kafka.Consumer(_options(settings) | _CONSUMER | options)


def producer(settings: KafkaSettings, **options: Any) -> confluent_kafka.Producer:
    """Connect a writer: acknowledged by all replicas in sync, and never twice."""
    milliseconds = {"message.timeout.ms": int(settings.timeout_seconds * 1000)}
    return confluent_kafka.Producer(_options(settings) | _PRODUCER | milliseconds | options)


def administrator(settings: KafkaSettings) -> admin.AdminClient:
    """Connect for questions about topics."""
    return admin.AdminClient(_options(settings))


def explained(error: confluent_kafka.KafkaException, settings: KafkaSettings) -> BrokerUnavailable:
    """Turn the client's error into one that says what to do."""
    return BrokerUnavailable(settings.bootstrap, str(error.args[0].str() if error.args else error))


def refusal(error: confluent_kafka.KafkaError, settings: KafkaSettings, *, is_certain: bool) -> HeadraceError:
    """Return why a record isn't stored: one that is too large stays so, everything else may pass."""
    if error.code() == error.MSG_SIZE_TOO_LARGE:
        limit = int(
            _options(settings).get(_LARGEST, 1_000_000)
        )  # the client's own; brokers may have a lower one
        return PayloadTooLarge(f"an event as a record of Kafka ({_LARGEST})", limit)
    return LogUnavailable(f"Kafka doesn't store it: {error.str()}", is_certain=is_certain)


def _options(settings: KafkaSettings) -> dict[str, Any]:
    if importlib.util.find_spec("confluent_kafka") is None:
        raise ConfigError(
            'log.kind is "kafka", and its client isn\'t installed; install it: pip install "headrace[kafka]"'
        )
    options: dict[str, Any] = {
        "bootstrap.servers": settings.bootstrap,
        "client.id": "headrace",
        "log_level": 2,  # what goes wrong comes as an error as well
        "reconnect.backoff.max.ms": 1000,
        "topic.metadata.refresh.interval.ms": 10_000,
    }
    for each in settings.client_options:
        name, is_pair, value = each.partition("=")
        if not is_pair:
            raise ConfigError(f"kafka.client_options has {each!r}; write each as name=value")
        options[name.strip()] = value.strip()
    return options

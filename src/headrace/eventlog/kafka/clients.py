"""Clients of the brokers, with the options that all of them share."""

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
    "group.id": "headrace",  # required, but used only by consumers that subscribe
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "isolation.level": "read_committed",
    "auto.offset.reset": "error",  # a removed record is an error, never skipped
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 100,
    "queued.max.messages.kbytes": 16_384,
    "fetch.queue.backoff.ms": 5,  # with a full queue, fetch again soon and not after a second
}
_LARGEST = "message.max.bytes"
_PRODUCER = {"acks": "all", "enable.idempotence": True, "compression.type": "lz4"}


def consumer(settings: KafkaSettings, **options: Any) -> confluent_kafka.Consumer:
    """Return a consumer that sees only what transactions have committed."""
    return confluent_kafka.Consumer(_options(settings) | _CONSUMER | options)


def producer(settings: KafkaSettings, **options: Any) -> confluent_kafka.Producer:
    """Return a producer whose records are acknowledged by all replicas in sync, and never stored twice."""
    milliseconds = {"message.timeout.ms": int(settings.timeout_seconds * 1000)}
    return confluent_kafka.Producer(_options(settings) | _PRODUCER | milliseconds | options)


def administrator(settings: KafkaSettings) -> admin.AdminClient:
    """Return a client for managing topics."""
    return admin.AdminClient(_options(settings))


def explained(error: confluent_kafka.KafkaException, settings: KafkaSettings) -> BrokerUnavailable:
    """Return an error that says what to do about the client's error."""
    return BrokerUnavailable(settings.bootstrap, str(error.args[0].str() if error.args else error))


def refusal(error: confluent_kafka.KafkaError, settings: KafkaSettings, *, is_certain: bool) -> HeadraceError:
    """Return why a record isn't stored. Too large is permanent; everything else may be temporary."""
    if error.code() == error.MSG_SIZE_TOO_LARGE:
        limit = int(
            _options(settings).get(_LARGEST, 1_000_000)
        )  # the client's own; brokers may have a lower one
        return PayloadTooLarge(f"an event as a record of Kafka ({_LARGEST})", limit)
    return LogUnavailable(f"Kafka refused to store it: {error.str()}", is_certain=is_certain)


def _options(settings: KafkaSettings) -> dict[str, Any]:
    if importlib.util.find_spec("confluent_kafka") is None:
        raise ConfigError(
            'log.kind is "kafka", and its client isn\'t installed; install it: pip install "headrace[kafka]"'
        )
    options: dict[str, Any] = {
        "bootstrap.servers": settings.bootstrap,
        "client.id": "headrace",
        "log_level": 2,  # problems are reported as errors too
        "reconnect.backoff.max.ms": 1000,
        "topic.metadata.refresh.interval.ms": 10_000,
    }
    for each in settings.client_options:
        name, is_pair, value = each.partition("=")
        if not is_pair:
            raise ConfigError(f"kafka.client_options has {each!r}; write each as name=value")
        options[name.strip()] = value.strip()
    return options

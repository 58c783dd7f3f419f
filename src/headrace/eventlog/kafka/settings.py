"""Settings of the log and the outbox in Kafka; `defaults.toml` explains each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

_AtLeastOne = Annotated[int, Meta(ge=1)]
_Interval = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True, slots=True)
class KafkaSettings:
    """The brokers, and the topics that Headrace uses."""

    bootstrap: str
    topics: tuple[str, ...]
    outbox: str
    partitions: _AtLeastOne
    replicas: _AtLeastOne
    timeout_seconds: _Interval
    client_options: tuple[str, ...]
    owned: bool = False

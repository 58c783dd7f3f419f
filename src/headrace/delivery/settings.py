"""Settings of delivery; `defaults.toml` explains each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from headrace.delivery.sinks.networks import Network

_AtLeastOne = Annotated[int, Meta(ge=1)]
_Count = Annotated[int, Meta(ge=0)]
_Seconds = Annotated[float, Meta(ge=0)]
_Interval = Annotated[float, Meta(gt=0)]
_Part = Annotated[float, Meta(ge=0, le=1)]


@dataclass(frozen=True, slots=True)
class DeliverySettings:
    """How hard and how long the dispatcher tries, and how much it holds in memory."""

    url: str
    patience_seconds: _Seconds
    concurrency: _AtLeastOne
    queue_length: _AtLeastOne
    max_queued: _AtLeastOne
    timeout_seconds: _Interval
    retries: _Count
    backoff_seconds: _Seconds
    backoff_max_seconds: _Seconds
    jitter: _Part
    breaker_failures: _Count
    breaker_seconds: _Seconds
    breaker_max_seconds: _Seconds
    record_successes: bool
    poll_seconds: _Interval
    flush_seconds: _Interval
    memory_seconds: _Interval
    shutdown_seconds: _Seconds
    token_refresh_seconds: _Seconds
    allow_networks: tuple[Network, ...]
    ca_file: str
    webhook_origin: str
    webhook_callback: Annotated[str, Meta(pattern=r"^(https?://[^\s?#]+)?$")]
    attempts_retention_seconds: _Seconds
    attempts_max: _Count
    pull_retention_seconds: _Seconds
    pull_max: _Count

"""Settings of delivery; `defaults.toml` explains each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeliverySettings:
    """How hard and how long the dispatcher tries, and how much it holds in memory."""

    url: str
    concurrency: int
    queue_length: int
    max_queued: int
    timeout_seconds: float
    retries: int
    backoff_seconds: float
    backoff_max_seconds: float
    jitter: float
    poll_seconds: float
    flush_seconds: float
    shutdown_seconds: float

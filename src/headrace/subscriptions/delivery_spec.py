"""How a subscription's events are delivered: Knative's delivery object, and what Headrace adds to it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Ordering(Enum):
    """What is delivered in the order of the log: nothing, everything, or what has the same `partitionkey`."""

    UNORDERED = "unordered"
    ORDERED = "ordered"
    PARTITIONKEY = "partitionkey"


class BackoffPolicy(Enum):
    """How waits grow from one repetition to the next."""

    LINEAR = "linear"
    EXPONENTIAL = "exponential"


@dataclass(frozen=True, slots=True)
class DeliverySpec:
    """All times are in seconds; what a subscription or its channel leaves open has the service's defaults.

    `retry_after_max` of None ignores a sink's Retry-After. `batch_size` of 1 sends every event alone.
    """

    retry: int
    backoff_policy: BackoffPolicy
    backoff_delay: float
    timeout: float
    retry_after_max: float | None
    dead_letter_sink: str | None
    ordering: Ordering
    concurrency: int
    rate: float | None
    batch_size: int
    batch_age: float

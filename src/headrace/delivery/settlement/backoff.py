"""When a failed delivery is tried again: Knative's rules, bounded, and spread by the jitter."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from headrace.subscriptions.delivery.spec import BackoffPolicy

if TYPE_CHECKING:
    from headrace.delivery.attempt.outcome import Outcome
    from headrace.delivery.settings import DeliverySettings
    from headrace.subscriptions.delivery.spec import DeliverySpec

_ASK_LATER = (429, 503)
# What our own side asks for: a token that can't be refreshed, a web hook that has not agreed.
_OWN_SIDE_SECONDS = 60.0


def wait_before(
    repetition: int, spec: DeliverySpec, settings: DeliverySettings, chance: float | None = None
) -> float:
    """Return the seconds before a repetition (from 1): delay·n or delay·2ⁿ, n from 0."""
    n = repetition - 1
    is_linear = spec.backoff_policy is BackoffPolicy.LINEAR
    factor = float(n) if is_linear else 2.0 ** min(n, 60)
    wait = min(spec.backoff_delay * factor, settings.backoff_max_seconds)
    spread = random.random() if chance is None else chance
    return wait * (1 + settings.jitter * (2 * spread - 1))


def longest_wait(spec: DeliverySpec, settings: DeliverySettings) -> float:
    """Return the seconds that a delivery may be put off at most, whatever the reason, with some to spare."""
    backoff = settings.backoff_max_seconds * (1 + settings.jitter)
    sink = spec.retry_after_max or 0.0
    return 2 * max(backoff, settings.breaker_max_seconds, sink, _OWN_SIDE_SECONDS)


def wait_after(outcome: Outcome, repetition: int, spec: DeliverySpec, settings: DeliverySettings) -> float:
    """Return the same, not less than the sink asked for, where it may ask and as far as it may."""
    wait = wait_before(max(repetition, 1), spec, settings)
    if not outcome.attempted:
        return wait if outcome.retry_after is None else outcome.retry_after
    if outcome.retry_after is None or spec.retry_after_max is None or outcome.status not in _ASK_LATER:
        return wait
    return max(wait, min(outcome.retry_after, spec.retry_after_max))

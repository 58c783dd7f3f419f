"""How each subscription is delivered: who is asked for it, and the answer of a service without wishes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.subscriptions.delivery.spec import BackoffPolicy, DeliverySpec, Ordering

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.delivery.settings import DeliverySettings
    from headrace.subscriptions.subscription import Subscription

    SpecOf = Callable[[Subscription], DeliverySpec]
    """Asked on the event loop when a subscription's queue is made and when the subscription changed: it can't block."""

_BATCH_AGE = 0.2


def default_spec(settings: DeliverySettings) -> DeliverySpec:
    """Return what holds where neither a subscription nor its channel says anything."""
    return DeliverySpec(
        retry=settings.retries,
        backoff_policy=BackoffPolicy.EXPONENTIAL,
        backoff_delay=settings.backoff_seconds,
        timeout=settings.timeout_seconds,
        retry_after_max=None,
        dead_letter_sink=None,
        ordering=Ordering.UNORDERED,
        concurrency=settings.concurrency,
        rate=None,
        batch_size=None,
        batch_age=_BATCH_AGE,
    )

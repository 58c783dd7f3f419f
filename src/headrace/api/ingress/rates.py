"""Rate limits of namespaces, as token buckets.

Each ingress process has its own buckets: with several processes a namespace may send several times its rate.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from typing import TYPE_CHECKING

from headrace.errors import RateExceeded, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.subscriptions.quotas.quotas import Overrides, Quotas
    from headrace.subscriptions.quotas.store import QuotaStore

_log = logging.getLogger(__name__)


class Rates:
    """For one event loop. A bucket holds the events of one second; a larger batch overdraws it."""

    def __init__(
        self,
        defaults: Quotas,
        overrides: Mapping[str, Overrides],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._defaults = defaults
        self._own = dict(overrides)
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def check(self, namespace: str) -> None:
        """Raise RateExceeded while the bucket is empty."""
        rate = self._rate(namespace)
        if rate and (level := self._level(namespace, rate)) < 1:
            raise RateExceeded(namespace, rate, max(1, math.ceil((1 - level) / rate)))

    def take(self, namespace: str, events: int) -> None:
        """Take accepted events out of the bucket."""
        if rate := self._rate(namespace):
            self._buckets[namespace] = self._level(namespace, rate) - events, self._clock()

    def _rate(self, namespace: str) -> float:
        own = self._own.get(namespace)
        if own is None or own.events_per_second is None:
            return self._defaults.events_per_second
        return own.events_per_second

    def _level(self, namespace: str, rate: float) -> float:
        now, most = self._clock(), max(rate, 1.0)
        level, since = self._buckets.get(namespace, (most, now))
        return min(level + (now - since) * rate, most)

    async def follow(self, store: QuotaStore, seconds: float) -> None:
        """Keep up with the quotas that are set, for ever."""
        while True:
            await asyncio.sleep(seconds)
            try:
                self._own = await asyncio.to_thread(store.all)
            except StoreUnavailable as error:
                _log.warning("the last known rates of namespaces are used: %s", error)

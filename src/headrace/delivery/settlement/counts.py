"""Metrics of what was delivered, counted here and told a few times a second: a counter for all processes is dear."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.ledger.stages import SINK
from headrace.telemetry.metrics import DELIVERED, DELIVERY_SECONDS, REPLAYED, SPILLED, STAGE_DELIVERED

if TYPE_CHECKING:
    from headrace.delivery.queue.delivery import Delivery


class Counts:
    """For one event loop."""

    def __init__(self) -> None:
        self._delivered = 0
        self._seconds: list[float] = []
        self.spilled = 0
        """Deliveries that the ledger keeps because their queue could not take them."""

    def delivered(self, delivery: Delivery) -> None:
        """Count a delivery that was acknowledged. Replies and dead letters are few, and told at once."""
        if delivery.key.stage != SINK:
            STAGE_DELIVERED.labels(delivery.key.stage).inc()
            return
        self._delivered += 1
        if delivery.key.replay:
            REPLAYED.inc()
        elif delivery.event is None:
            self._seconds.append(time.time() - delivery.payload.recorded.publish_time / 1e6)

    def tell(self) -> None:
        """Add what was counted to the metrics."""
        if self.spilled:
            SPILLED.inc(self.spilled)
            self.spilled = 0
        if self._delivered:
            DELIVERED.inc(self._delivered)
            DELIVERY_SECONDS.observe_all(self._seconds)
            self._delivered, self._seconds = 0, []

"""Whether deliveries get on: what was read from the outbox is attempted, kept in the ledger, or waits on purpose."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.delivery.step import PolledStep
from headrace.telemetry.health import HEALTH, Status

if TYPE_CHECKING:
    from headrace.delivery.intake.progress import DeliveryProgress
    from headrace.delivery.queue.queues import SubscriptionQueues
    from headrace.events.positions import LogPosition

_PART = "deliveries"
_LOOK_SECONDS = 1.0
_STANDS_STILL_AFTER = 30.0


class Standstill(PolledStep):
    """Looks once a second."""

    def __init__(self, progress: DeliveryProgress, queues: SubscriptionQueues) -> None:
        self._progress = progress.log
        self._queues = queues
        self._settled: LogPosition | None = None
        self._moved_at = 0.0

    async def poll(self) -> float:
        """Report how far deliveries are settled, or that they stand still."""
        now, settled = time.monotonic(), self._progress.settled()
        if settled != self._settled or settled == self._progress.read() or _waits_for_others():
            self._settled, self._moved_at = settled, now
        seconds = now - self._moved_at
        # All queues are looked at only where the answer may be bad.
        if seconds < _STANDS_STILL_AFTER:
            HEALTH.working(_PART, f"settled up to position {settled}")
        elif any(each.is_active for each in self._queues):
            self._moved_at = now - _STANDS_STILL_AFTER / 2
            HEALTH.working(_PART, f"attempts hold the cursor at position {settled}")
        else:
            HEALTH.blocked(
                _PART,
                f"what was read behind position {settled} has been waiting for {seconds:.0f} s, and nothing is "
                "attempted; kill the role: it is started again and reads it anew",
            )
        return _LOOK_SECONDS


def _waits_for_others() -> bool:
    """Tell whether another part says why nothing moves: what can't be committed can't be settled."""
    return any(each.status is Status.BLOCKED for name, each in HEALTH.reports().items() if name != _PART)

"""What the dispatcher tells of each subscription's sink: the last success, the last failure, and its breaker."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from headrace.clock import CLOCK
from headrace.delivery.attempt.outcome import Verdict
from headrace.delivery.step import PolledStep
from headrace.errors import StoreUnavailable
from headrace.ledger.records.status import CLOSED, HALF_OPEN, OPEN, DeliveryReport
from headrace.ledger.stages import SINK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.delivery.attempt.outcome import Outcome
    from headrace.delivery.ledger_thread import LedgerThread
    from headrace.delivery.queue.breaker import Breaker
    from headrace.delivery.queue.queue import SubscriptionQueue

_log = logging.getLogger(__name__)
_REPORT_SECONDS = 5.0


class Reports(PolledStep):
    """Collects news and tells them every few seconds; of many attempts at one sink the last counts.

    For one event loop; `tell` may block.
    """

    def __init__(self, ledger: LedgerThread, tell: Callable[[Sequence[DeliveryReport]], object]) -> None:
        self._in_thread = ledger.run
        self._tell = tell
        self._succeeded: dict[str, float] = {}
        self._failed: dict[str, tuple[float, Outcome]] = {}
        self._breakers: dict[str, Breaker] = {}

    def note(self, queue: SubscriptionQueue, outcome: Outcome) -> None:
        """Take note of an attempt, or of what kept it from being made."""
        if queue.stage != SINK:
            return
        subscription = queue.subscription.id
        self._breakers[subscription] = queue.breaker
        if outcome.verdict is Verdict.DONE:
            self._succeeded[subscription] = time.time()
        else:
            self._failed[subscription] = time.time(), outcome

    async def poll(self) -> float:
        """Tell what is new. What can't be written now is told by the next attempt."""
        if reports := self.take():
            try:
                await self._in_thread(self._tell, reports)
            except StoreUnavailable as error:
                _log.warning("how %d sinks fare is told later: %s", len(reports), error)
        return _REPORT_SECONDS

    async def join(self) -> None:
        """Tell the rest."""
        await self.poll()

    def take(self) -> list[DeliveryReport]:
        """Return what is new."""
        reports = [self._report(subscription, breaker) for subscription, breaker in self._breakers.items()]
        for each in (self._succeeded, self._failed, self._breakers):
            each.clear()
        return reports

    def _report(self, subscription: str, breaker: Breaker) -> DeliveryReport:
        report = DeliveryReport(
            subscription,
            self._succeeded.get(subscription),
            breaker=_state(breaker),
            until=CLOCK.shown(breaker.until) if breaker.until else None,
        )
        if subscription in self._failed:
            failed, outcome = self._failed[subscription]
            report = report._replace(failed=failed, reason=outcome.reason, status=outcome.status)
        return report


def _state(breaker: Breaker) -> str:
    if not breaker.until:
        return CLOSED
    return OPEN if breaker.is_open else HALF_OPEN

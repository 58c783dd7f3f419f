"""A circuit breaker: an address that keeps failing is left alone for a while, then one attempt asks whether it is back.

It spares the address, and it spares the deliveries their attempts: while it is open nothing is tried and nothing
counted. An answer that refuses an event for good shows that somebody is there, so it isn't a failure here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.clock import CLOCK

if TYPE_CHECKING:
    from headrace.delivery.settings import DeliverySettings


class Breaker:
    """For one address and one event loop. `until` is 0 while it is closed; after `until`, one attempt may be made."""

    __slots__ = ("_failures", "_open_for", "_settings", "until")

    def __init__(self, settings: DeliverySettings) -> None:
        self._settings = settings
        self._failures = 0
        self._open_for = 0.0
        self.until = 0.0

    @property
    def is_open(self) -> bool:
        """Whether nothing may be attempted now."""
        return self.until > 0.0 and CLOCK.time() < self.until

    @property
    def is_untouched(self) -> bool:
        """Whether the last attempt was none that failed."""
        return not self._failures

    def succeeded(self) -> bool:
        """Take note of an answer; tell whether that closed it."""
        was_closed = not self.until
        self._failures, self._open_for, self.until = 0, 0.0, 0.0
        return not was_closed

    def failed(self) -> bool:
        """Take note of a failure; tell whether that opened it. Late ones, begun before it opened, change nothing."""
        self._failures += 1
        most = self._settings.breaker_failures
        if not most or self._failures < most or self.is_open:
            return False
        longest = self._settings.breaker_max_seconds
        self._open_for = min(self._open_for * 2 or self._settings.breaker_seconds, longest)
        self.until = CLOCK.time() + self._open_for
        return True

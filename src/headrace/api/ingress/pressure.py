"""Back-pressure: the ingress refuses events when the backlog, the outbox or the disks are full.

The limit on events is checked with every request. The others take system calls or a query, so they are checked twice a
second; events that come in meanwhile may exceed them.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import DeliveryBehind, DiskNearlyFull, HeadraceError, LogBehind
from headrace.telemetry.health import HEALTH
from headrace.telemetry.metrics import BACKLOG_BYTES, BACKLOG_EVENTS, DISK_FREE_BYTES, OUTBOX_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headrace.api.settings import ApiSettings

_log = logging.getLogger(__name__)
_PART = "disk"
_SILENT_AFTER = 60.0


@dataclass(frozen=True, slots=True)
class Gauges:
    """How full everything is. `backlog_events` is called from the event loop; the others may block."""

    backlog_events: Callable[[], int]
    """Accepted events that are not routed yet."""
    backlog_bytes: Callable[[], int]
    """Their size in the log."""
    outbox_bytes: Callable[[], int]
    """The size of planned deliveries that no dispatcher has read yet."""
    folders: Sequence[Path]
    """Folders that may be on different disks."""


class Pressure:
    """Checked by the ingress with every request. For one event loop."""

    def __init__(self, gauges: Gauges, settings: ApiSettings) -> None:
        self._gauges = gauges
        self._settings = settings
        self._refusal: HeadraceError | None = None
        self._is_blind = False

    def check(self) -> None:
        """Raise an error if events are refused now."""
        backlog = self._gauges.backlog_events()
        if backlog > self._settings.max_backlog_events:
            raise LogBehind(backlog, self._settings.max_backlog_events)
        if self._refusal is not None:
            raise self._refusal.with_traceback(None)

    async def follow(self, seconds: float) -> None:
        """Measure every so many seconds, for ever."""
        while True:
            try:
                self._refusal = await asyncio.to_thread(self.look)
                self._report()
            except Exception as error:  # noqa: BLE001  measuring goes on after a failure
                self._go_blind(error)
            else:
                self._see_again()
            await asyncio.sleep(seconds)

    def _report(self) -> None:
        """Report a full disk only: it needs an operator, while a lag of routing or delivery passes."""
        if isinstance(self._refusal, DiskNearlyFull):
            HEALTH.blocked(_PART, f"events are refused: {self._refusal}")
        else:
            HEALTH.idle(_PART, "there is enough free space", _SILENT_AFTER)

    def _go_blind(self, error: Exception) -> None:
        """Log the first failure to measure, not each of them."""
        if not self._is_blind:
            self._is_blind = True
            unforeseen = None if isinstance(error, HeadraceError | FileNotFoundError) else error
            _log.warning(
                "%s; backlog and free disk space can't be measured, so the last known values are used",
                error,
                exc_info=unforeseen,
            )

    def _see_again(self) -> None:
        if self._is_blind:
            self._is_blind = False
            _log.info("backlog and free disk space are measured again")

    def look(self) -> HeadraceError | None:
        """Measure and publish how full everything is; return the error that refuses events, if any."""
        settings = self._settings
        BACKLOG_EVENTS.set(self._gauges.backlog_events())
        free, folder = min((shutil.disk_usage(each).free, each) for each in self._gauges.folders)
        DISK_FREE_BYTES.set(free)
        backlog, outbox = self._gauges.backlog_bytes(), self._gauges.outbox_bytes()
        BACKLOG_BYTES.set(backlog)
        OUTBOX_BYTES.set(outbox)
        if free < settings.min_free_bytes:
            return DiskNearlyFull(folder, free, settings.min_free_bytes)
        if backlog > settings.max_backlog_bytes:
            return LogBehind(backlog, settings.max_backlog_bytes, unit="bytes")
        if outbox > settings.max_outbox_bytes:
            return DeliveryBehind(outbox, settings.max_outbox_bytes)
        return None

"""Requests that were refused because of who asked: all are counted, and some are logged."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from headrace.telemetry.metrics import UNAUTHORIZED

if TYPE_CHECKING:
    from headrace.errors import HeadraceError

_log = logging.getLogger(__name__)
# Guessing keys all day must not fill the disk with log lines.
_LOGGED_A_MINUTE = 20


class Refusals:
    """For one event loop."""

    def __init__(self) -> None:
        self._minute = 0
        self._logged = self._unlogged = 0

    def count(self, what: str, refusal: HeadraceError) -> None:
        """Count a refusal of "events" or "requests"; log it unless too many were logged in this minute."""
        UNAUTHORIZED.labels(what, refusal.code).inc()
        minute = int(time.monotonic() // 60)
        if minute != self._minute:
            if self._unlogged:
                _log.warning("%d more requests were refused for lack of authorization", self._unlogged)
            self._minute, self._logged, self._unlogged = minute, 0, 0
        if self._logged < _LOGGED_A_MINUTE:
            self._logged += 1
            _log.warning("refused: %s", refusal)
        else:
            self._unlogged += 1

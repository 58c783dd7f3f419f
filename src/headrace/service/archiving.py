"""Archiving beside the routing: a thread of the pipeline role, at the lowest priority."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from headrace.errors import HeadraceError
from headrace.telemetry.metrics import ARCHIVE_FAILURES

if TYPE_CHECKING:
    from headrace.eventlog.archive.keeper import Keeper

_log = logging.getLogger(__name__)
_LOWEST_PRIORITY = 19
_LAST_WAIT = 10.0


class Archiving:
    """Runs the keeper every so often. An error is logged and the next run tries again: routing never waits for it."""

    def __init__(self, keeper: Keeper, interval_seconds: float) -> None:
        self._keeper = keeper
        self._interval = interval_seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headrace-archive", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop between two batches of events; what isn't committed is done again by the next start."""
        self._stop.set()
        self._thread.join(_LAST_WAIT)

    def _run(self) -> None:
        with suppress(OSError, AttributeError):  # on Linux a thread has a priority of its own
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST_PRIORITY)
        while not self._stop.wait(self._interval):
            try:
                self._keep()
            except (HeadraceError, OSError) as error:
                ARCHIVE_FAILURES.inc()
                _log.error("events can't be archived and stay in the log: %s", error)

    def _keep(self) -> None:
        done = self._keeper.run(self._stop.is_set)
        if done.archived or done.joined or done.expired:
            _log.debug(
                "archived %d events, joined %d files, removed %d", done.archived, done.joined, done.expired
            )

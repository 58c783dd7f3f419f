"""Periodic background work of the pipeline role."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from headrace.errors import HeadraceError, first_line
from headrace.telemetry.health import FOREVER, HEALTH

if TYPE_CHECKING:
    from collections.abc import Callable

_log = logging.getLogger(__name__)
_LOWEST_PRIORITY = 19
_LAST_WAIT = 10.0


class Chore:
    """A thread at the lowest priority. An error goes to `failed`, and the next turn tries again: routing never waits.

    A turn gets a function that tells whether to stop; the next start does what it leaves undone.
    """

    def __init__(
        self,
        name: str,
        turn: Callable[[Callable[[], bool]], None],
        interval_seconds: float,
        failed: Callable[[Exception], None],
    ) -> None:
        self._turn = turn
        self._interval = interval_seconds
        self._failed = failed
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(_LAST_WAIT)

    def _run(self) -> None:
        with suppress(OSError, AttributeError):  # only Linux has priorities per thread
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST_PRIORITY)
        while not self._stop.wait(self._interval):
            try:
                self._turn(self._stop.is_set)
            except (HeadraceError, OSError) as error:
                self._fail(error)
            except Exception as error:  # noqa: BLE001  the thread must not end by it
                _log.exception("%s failed unexpectedly and is tried again", self._thread.name)
                self._fail(error)
            else:
                HEALTH.idle(self._thread.name, f"it is done every {self._interval:g} s", FOREVER)
        HEALTH.forget(self._thread.name)

    def _fail(self, error: Exception) -> None:
        """Report the failure; the role stays ready, since routing goes on."""
        self._failed(error)
        HEALTH.degraded(
            self._thread.name,
            f"{first_line(error)}; it is tried again in {self._interval:g} s, and what it left waits",
        )

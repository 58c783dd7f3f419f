"""Where events are read again from: the log, the replay they belong to, or the ledger itself."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.delivery.attempt.payload import read_payloads
from headrace.delivery.attempt.stages import stored_payload
from headrace.delivery.step import pause
from headrace.errors import BrokerUnavailable, InvalidEvent
from headrace.telemetry.health import HEALTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.delivery.attempt.payload import Payload
    from headrace.delivery.intake.progress import DeliveryProgress
    from headrace.eventlog.log import LogReader
    from headrace.ledger.ledger import Key, Wait

_log = logging.getLogger(__name__)
T = TypeVar("T")
_PAUSE_SECONDS = 0.5
_PART = "reading of the log"


class EventSource:
    """For one event loop. A log elsewhere takes its time, and deliveries go on meanwhile.

    Brokers that are away are waited for, until `stop_waiting`: then their absence is an error.
    """

    def __init__(self, log: LogReader, progress: DeliveryProgress) -> None:
        self._log = log
        self._feeds = progress.replays
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="log")
        self._is_stopping = asyncio.Event()

    def stop_waiting(self) -> None:
        """Wait for no broker any more."""
        self._is_stopping.set()

    def close(self) -> None:
        """Let go of the thread."""
        self._thread.shutdown()

    async def read(self, call: Callable[..., T], *arguments: Any) -> T:
        """Read something from a disk or a broker, in the same thread as the log."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *arguments)

    async def read_log(self, positions: Iterable[int]) -> dict[int, Payload]:
        """Read events of the log; what can't be read any more is left out."""
        while True:
            try:
                payloads = await self.read(read_payloads, self._log, positions)
            except BrokerUnavailable as error:
                if self._is_stopping.is_set():
                    raise
                _log.warning("the log is asked again: %s", error)
                HEALTH.blocked(_PART, f"the log can't be read, and is asked again: {error}")
                await pause(_PAUSE_SECONDS, self._is_stopping)
            else:
                HEALTH.forget(_PART)
                return payloads

    async def payloads(self, waits: Iterable[Wait]) -> dict[Key, Payload]:
        """Read the events of what waits; what can't be read any more is left out."""
        found: dict[Key, Payload] = {}
        by_source: defaultdict[str, list[Key]] = defaultdict(list)
        for wait in waits:
            if wait.event is None:
                by_source[wait.key.replay].append(wait.key)
            elif (payload := _read(wait.key, wait.event)) is not None:
                found[wait.key] = payload
        for replay, keys in by_source.items():
            read = await self._read(replay, {key.position for key in keys})
            found |= {key: read[key.position] for key in keys if key.position in read}
        return found

    async def _read(self, replay: str, positions: set[int]) -> dict[int, Payload]:
        if not replay:
            return await self.read_log(positions)
        feed = self._feeds.get(replay)
        return {} if feed is None else await asyncio.to_thread(feed.payloads, positions)


def _read(key: Key, event: bytes) -> Payload | None:
    try:
        return stored_payload(event, key.position)
    except InvalidEvent as error:
        _log.error("the ledger's event of %s can't be read: %s", key, error)
        return None

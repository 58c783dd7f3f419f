"""Reads the outbox: what is planned for mailboxes goes there, and the rest, a slice at a time, to the queues."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.delivery.intake.planned import gathered
from headrace.delivery.step import PolledStep
from headrace.events.positions import LogPosition, partitions_of
from headrace.telemetry.health import HEALTH

if TYPE_CHECKING:
    import numpy.typing as npt

    from headrace.delivery.intake.mailboxes import Mailboxes
    from headrace.delivery.intake.progress import DeliveryProgress
    from headrace.delivery.intake.queue_intake import QueueIntake
    from headrace.delivery.retry.events import EventSource
    from headrace.eventlog.outbox import OutboxReader

_PART = "intake"
# Where the ledger holds it up, that says so itself.
_SILENT_AFTER = 30.0
_PAIRS_AT_A_TIME = 1_000
# An outbox that was still for this long is looked at half as often.
_IDLE_AFTER = 1.0


class OutboxSource(PolledStep):
    """Goes on from where the progress is settled, every `seconds` or without a pause while there is more."""

    def __init__(
        self,
        outbox: OutboxReader,
        events: EventSource,
        mailboxes: Mailboxes,
        queues: QueueIntake,
        progress: DeliveryProgress,
        seconds: float,
    ) -> None:
        self._outbox = outbox
        self._events = events
        self._mailboxes = mailboxes
        self._queues = queues
        self._progress = progress.log
        self._seconds = seconds
        self._position = progress.log.settled()
        self._last_read = time.monotonic()
        self._is_closed = False

    async def poll(self) -> float:
        """Read all that is planned and was not read yet."""
        began = self._position
        self._queues.recover_to(began)
        parts = gathered(self._outbox.read(began), _PAIRS_AT_A_TIME)
        while (part := await self._events.read(next, parts, None)) is not None and not self._is_closed:
            end, planned = part
            pairs = await self._mailboxes.sort_out(planned)
            await self._hand_on(pairs, end, is_begun=pairs.num_rows < planned.num_rows)
        if self._is_closed:
            return self._seconds
        if self._position != began:
            self._last_read = time.monotonic()
            return 0.0
        if self._outbox.is_blocked:
            HEALTH.idle(_PART, "it waits for the rest of the outbox", _SILENT_AFTER)
        else:
            self._queues.recovered()  # nothing comes before what the ledger has
            HEALTH.idle(_PART, f"nothing is planned behind position {began}", _SILENT_AFTER)
        is_idle = time.monotonic() - self._last_read > _IDLE_AFTER
        return self._seconds * (2 if is_idle else 1)

    def close(self) -> None:
        """Read no more, and wait for no broker."""
        self._is_closed = True
        self._events.stop_waiting()

    async def _hand_on(self, pairs: pa.Table, end: LogPosition, *, is_begun: bool) -> None:
        """Submit a part slice by slice. Closed in between, it is broken off, unless mailboxes have some of it."""
        begun = 0
        while begun < pairs.num_rows and not self._is_closed:
            if await self._queues.submit(pairs.slice(begun, _PAIRS_AT_A_TIME)):
                begun += _PAIRS_AT_A_TIME
            else:
                await asyncio.sleep(self._seconds)
        if begun < pairs.num_rows and is_begun:
            await self._begin(pairs.slice(begun))
        elif begun < pairs.num_rows:
            end = await self._break_off(pairs, begun, end)
        self._position = end
        self._progress.read_to(end)
        self._queues.recover_to(end)
        HEALTH.working(_PART, f"read what is planned up to position {end}", _SILENT_AFTER)

    async def _break_off(self, pairs: pa.Table, begun: int, end: LogPosition) -> LogPosition:
        """Begin what is left of events that have begun for some; return where the next start goes on, behind these."""
        positions = pairs["position"].to_numpy()
        is_left = np.isin(positions[begun:], positions[:begun])
        await self._begin(pairs.slice(begun).filter(pa.array(is_left)))
        return _cut_before(positions[begun:][~is_left], end)

    async def _begin(self, pairs: pa.Table) -> None:
        """Begin pairs at the end, refused or not: closed queues take nothing, and the ledger gets whole columns."""
        for offset in range(0, pairs.num_rows, _PAIRS_AT_A_TIME):
            await self._queues.begin(pairs.slice(offset, _PAIRS_AT_A_TIME))


def _cut_before(positions: npt.NDArray[np.int64], end: LogPosition) -> LogPosition:
    """Return the last cut before these positions, and none behind `end`."""
    firsts = {
        partition: int(positions[partitions_of(positions) == partition].min())
        for partition in np.unique(partitions_of(positions)).tolist()
    }
    return LogPosition(dict(end) | firsts)

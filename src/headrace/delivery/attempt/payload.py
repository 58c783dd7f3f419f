"""Events on their way out: read together, encoded once per content mode however many subscriptions get them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from headrace.eventlog.log import read_remaining
from headrace.events.batch import coalesce, from_batch
from headrace.events.bindings.http import HttpMessage, encode_binary, encode_structured

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.eventlog.damage import Damage
    from headrace.eventlog.log import LogReader
    from headrace.events.recorded import Recorded

_log = logging.getLogger(__name__)
_ENCODERS = {"binary": encode_binary, "structured": encode_structured}


class Payload:
    """Shared by all deliveries of one event, and used from one event loop."""

    __slots__ = ("_messages", "recorded")

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        self._messages: dict[str, HttpMessage] = {}

    def message(self, mode: str) -> HttpMessage:
        """Return the event as an HTTP message in this content mode, with the trace it came with."""
        if mode not in self._messages:
            message = _ENCODERS[mode](self.recorded.arrival.event)
            self._messages[mode] = HttpMessage([*message.headers, *self.trace()], message.body)
        return self._messages[mode]

    def trace(self) -> list[tuple[str, str]]:
        """Return the trace that the event came with, as headers."""
        arrival = self.recorded.arrival
        trace = (("traceparent", arrival.traceparent), ("tracestate", arrival.tracestate))
        return [(name, value) for name, value in trace if value is not None]


def read_payloads(log: LogReader, positions: Iterable[int]) -> dict[int, Payload]:
    """Read the events at these positions: neighbours together, without what lies far between them.

    What can't be read any more is left out.
    """
    payloads: dict[int, Payload] = {}
    for run in _runs(sorted(set(positions)), log.least_gap):
        wanted = pa.array(run, pa.int64())
        for batch in coalesce(read_remaining(log, run[0], run[-1] + 1, _tell)):
            chosen = batch.filter(pc.is_in(batch["position"], value_set=wanted))
            payloads.update({recorded.position: Payload(recorded) for recorded in from_batch(chosen)})
    return payloads


def _tell(damage: Damage) -> None:
    _log.error("positions %d to %d can't be read: %s", damage.start, damage.end - 1, damage.problem)


def _runs(positions: list[int], gap: int) -> Iterator[list[int]]:
    """Cut sorted positions where the distance between two is larger than the gap."""
    start = 0
    for index in range(1, len(positions) + 1):
        if index == len(positions) or positions[index] - positions[index - 1] > gap:
            yield positions[start:index]
            start = index

"""An event on its way out: encoded once per content mode, however many subscriptions get it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.events.bindings.http import Message, encode_binary, encode_structured

if TYPE_CHECKING:
    from headrace.events.batch import Recorded

_ENCODERS = {"binary": encode_binary, "structured": encode_structured}


class Parcel:
    """Shared by all deliveries of one event, and used from one event loop."""

    __slots__ = ("_messages", "recorded")

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        self._messages: dict[str, Message] = {}

    def message(self, mode: str) -> Message:
        """Return the event as an HTTP message in this content mode, with the trace it came with."""
        if mode not in self._messages:
            arrival = self.recorded.arrival
            message = _ENCODERS[mode](arrival.event)
            trace = [("traceparent", arrival.traceparent), ("tracestate", arrival.tracestate)]
            headers = [*message.headers, *((name, value) for name, value in trace if value is not None)]
            self._messages[mode] = Message(headers, message.body)
        return self._messages[mode]

"""A link to a node of an AMQP 1.0 server: messages go out as far as the node gave credit, and wait to be settled."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from proton import Link

if TYPE_CHECKING:
    import asyncio

    from proton import Connection, Sender

_IDLE_SECONDS = 300.0


class Ended(ConnectionError):
    """The connection, the session or the link ended before the message was settled."""

    def __init__(self, condition: str, description: str = "") -> None:
        super().__init__(f"{condition}: {description}" if description else condition)
        self.condition = condition


class TooLarge(Exception):
    """The message is larger than the other side takes on this link."""


@dataclass(frozen=True, slots=True)
class LinkSpec:
    """Everything that a link is made of."""

    address: str
    name: str | None
    settled: bool
    properties: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Settlement:
    """What became of a message: a state of `Delivery`, and the condition of a rejection."""

    state: int
    condition: str = ""
    description: str = ""


class SendingLink:
    """One sender, the messages under way on it and those who wait for credit."""

    def __init__(self, engine: Connection, spec: LinkSpec, loop: asyncio.AbstractEventLoop) -> None:
        self.spec = spec
        self.flights: dict[str, asyncio.Future[Settlement]] = {}
        self.waiting: set[asyncio.Future[None]] = set()
        self.ended: Ended | None = None
        self.used = loop.time()
        self._loop = loop
        self._number = 0
        self._session = engine.session()
        self._session.open()
        self.name = spec.name or f"headrace-{secrets.token_hex(8)}"
        self.sender: Sender = self._session.sender(self.name)
        self.sender.target.address = spec.address
        self.sender.source.address = "headrace"
        self.sender.snd_settle_mode = Link.SND_SETTLED if spec.settled else Link.SND_UNSETTLED
        self.sender.properties = cast("Any", dict(spec.properties) or None)
        self.sender.open()

    @property
    def is_idle(self) -> bool:
        """Tell whether nobody has used it for long."""
        return not self.flights and not self.waiting and self.used + _IDLE_SECONDS < self._loop.time()

    async def credit(self) -> None:
        """Wait until the other side takes a message. Raise Ended."""
        while self.ended is None and self.sender.credit <= 0:
            turn = self._loop.create_future()
            self.waiting.add(turn)
            try:
                await turn
            finally:
                self.waiting.discard(turn)
        if self.ended is not None:
            raise self.ended

    def send(self, message: bytes) -> asyncio.Future[Settlement]:
        """Hand a message to the engine. What is sent settled counts as accepted once it is written."""
        limit = self.sender.remote_max_message_size
        if limit and len(message) > limit:
            raise TooLarge(f"a message of {len(message)} bytes, and the link takes {limit}")
        self._number += 1
        tag = str(self._number)
        flight = self.flights[tag] = self._loop.create_future()
        delivery = self.sender.delivery(tag)
        self.sender.send(message)
        if self.spec.settled:
            delivery.settle()
        self.sender.advance()
        self.used = self._loop.time()
        return flight

    def settle(self, tag: str, settlement: Settlement) -> None:
        """Tell whoever waits for this message what became of it."""
        flight = self.flights.pop(tag, None)
        if flight is not None and not flight.done():
            flight.set_result(settlement)

    def wake(self) -> None:
        """Let those who wait look for credit again."""
        for turn in self.waiting:
            if not turn.done():
                turn.set_result(None)

    def end(self, ended: Ended) -> None:
        """Fail what is under way, and everyone who waits for credit."""
        self.ended = self.ended or ended
        for flight in self.flights.values():
            if not flight.done():
                flight.set_exception(ended)
        self.flights.clear()
        self.wake()

    def close(self) -> None:
        """End it, and the session it has to itself."""
        self.sender.close()
        self._session.close()

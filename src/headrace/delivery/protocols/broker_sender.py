"""What the senders to brokers share: clients by server and credential, one message per event, no error raised."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.protocols.clients import C, Clients
from headrace.delivery.sinks.guard import refusal
from headrace.delivery.sinks.tls import tls_context
from headrace.errors import RefusedAddress

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from headrace.delivery.attempt.payload import Payload
    from headrace.delivery.attempt.target import Target
    from headrace.delivery.sinks.guard import Guard

_MOST_CLIENTS = 256
_IDLE_SECONDS = 300.0


class BrokerSender(ABC, Generic[C]):
    """For one event loop. Subscriptions share a client where all that it is made of is equal."""

    unanswered = "no acknowledgement"
    """What a broker that is too late didn't give."""

    def __init__(self, guard: Guard, ca_file: str = "") -> None:
        self._guard = guard
        self._tls = tls_context(ca_file)
        self._clients: Clients[C] = Clients(_MOST_CLIENTS, _IDLE_SECONDS)

    @abstractmethod
    def _sharing(self, target: Target) -> Hashable:
        """Return all that a client for this target is made of. Every delivery asks for it."""

    @abstractmethod
    async def _make(self, target: Target) -> C:
        """Connect, through the guard."""

    @abstractmethod
    async def _send(self, client: C, target: Target, payload: Payload) -> Outcome:
        """Send one event; raise whatever goes wrong."""

    @abstractmethod
    def _judge(self, error: Exception, target: Target) -> Outcome:
        """Say what an error means for the delivery."""

    def _late(self, client: C | None, reason: str) -> Outcome:  # noqa: ARG002
        """Say what it means that nothing came of an attempt in time."""
        return Outcome(Verdict.AGAIN, reason)

    def _failed(self, client: C, error: Exception) -> None:
        """Take note of an error that a client had."""

    async def send(self, target: Target, payloads: Sequence[Payload]) -> Outcome:
        """Make one attempt."""
        [payload] = payloads
        client: C | None = None
        try:
            use = self._clients.use(self._sharing(target), target.owner, lambda: self._make(target))
            async with asyncio.timeout(target.timeout), use as client:
                return await self._send(client, target, payload)
        except TimeoutError:
            return self._late(client, f"{self.unanswered} within {target.timeout:g} s")
        except Exception as error:  # noqa: BLE001  # a sender raises nothing
            if client is not None:
                self._failed(client, error)
            return refusal(error) if isinstance(error, RefusedAddress) else self._judge(error, target)

    async def forget(self, owner: str) -> None:
        """Close clients that no other subscription uses."""
        await self._clients.forget(owner)

    async def close(self) -> None:
        """Close all clients."""
        await self._clients.close()


def unforeseen(error: Exception) -> Outcome:
    """Try again after an error that nobody has a rule for."""
    return Outcome(Verdict.AGAIN, f"{type(error).__name__}: {error}")

"""Server-sent events: one event of a mailbox after the other, for as long as its consumer acknowledges them."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from typing import TYPE_CHECKING

from headrace.api.pull.cursors import Cursor
from headrace.api.pull.messages import lease_of
from headrace.api.requests.prefer import first_of
from headrace.clock import CLOCK
from headrace.errors import Conflict, Forbidden, LogError, NotFound, StoreUnavailable, Unauthenticated

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from headrace.api.pull.arrivals import Arrivals
    from headrace.api.pull.messages import Handed, Handing
    from headrace.ledger.pull.consumers import Mailroom
    from headrace.subscriptions.subscription import Subscription

MEDIA_TYPE = "text/event-stream"
_log = logging.getLogger(__name__)
_LINES = re.compile(rb"\r\n|\r|\n")
_PAGE = 200
_HEARTBEAT_SECONDS = 15.0
_LONGEST_SECONDS = 3600.0
_LOOK_SECONDS, _SOON_SECONDS, _AWAY_SECONDS = 1.0, 0.05, 1.0
_BEGIN = b"retry: 1000\n\n"


class Stream:
    """One consumer's stream. It holds at most so many events that are not acknowledged, and waits for that.

    It ends where its consumer acknowledges nothing for the time of the lease, with its subscription, when the service
    stops, when `find` says that its consumer may no more, and after an hour. It goes on where a database or a broker
    was away.
    """

    def __init__(
        self,
        mailroom: Mailroom,
        handing: Handing,
        arrivals: Arrivals,
        find: Callable[[str], Awaitable[Subscription]],
        closing: asyncio.Event,
        subscription_id: str,
        consumer: str,
        most: int,
        *,
        alone: bool,
        when_sent: bool,
    ) -> None:
        self._mailroom = mailroom
        self._handing = handing
        self._arrivals = arrivals
        self._find = find
        self._closing = closing
        self._id = subscription_id
        self._consumer = consumer
        self._most = most
        self._alone = alone
        self._when_sent = when_sent
        self._spoke = 0.0

    async def run(self) -> AsyncIterator[bytes]:
        """Yield what goes out."""
        yield _BEGIN
        began = self._spoke = time.monotonic()
        with self._arrivals.expecting(self._id) as arrived:
            while not self._closing.is_set() and time.monotonic() < began + _LONGEST_SECONDS:
                arrived.clear()
                try:
                    subscription = await self._find(self._id)
                    room = await self._room()
                    if room is None:
                        yield b": nothing was acknowledged for as long as the lease; come back for it\n\n"
                        return
                    handed = await self._take(subscription, room)
                    if handed:
                        yield b"".join(self._written(each) for each in handed)
                        await self._sent(subscription, handed)
                        continue
                    pause = _LOOK_SECONDS if room else _SOON_SECONDS
                except (NotFound, Conflict):
                    yield b": the subscription was deleted, or has a sink now\n\n"
                    return
                except (Unauthenticated, Forbidden):
                    yield b": the key or the token is good no more\n\n"
                    return
                except (StoreUnavailable, LogError) as error:
                    _log.warning("a stream of subscription %s goes on later: %s", self._id, error)
                    pause = _AWAY_SECONDS
                if self._is_silent():
                    yield b": still here\n\n"
                await first_of(arrived, self._closing, seconds=pause)

    async def _room(self) -> int | None:
        """Return how many more may go out; None where the consumer has let its lease run out."""
        held, until = await asyncio.to_thread(self._mailroom.held, self._id, self._consumer)
        if held and until <= CLOCK.time():
            return None
        return max(0, self._most - held)

    async def _take(self, subscription: Subscription, room: int) -> list[Handed]:
        if not room:
            return []
        limit = min(room, _PAGE)
        return await asyncio.to_thread(
            self._handing.take, subscription, self._consumer, limit, alone=self._alone
        )

    def _written(self, handed: Handed) -> bytes:
        self._spoke = time.monotonic()
        lines = b"\ndata: ".join(_LINES.split(handed.document))
        return f"id: {Cursor(self._consumer, handed.letter.number)}\n".encode() + b"data: " + lines + b"\n\n"

    async def _sent(self, subscription: Subscription, handed: list[Handed]) -> None:
        """Acknowledge what the connection has taken, where the consumer wants it so."""
        if self._when_sent:
            await asyncio.to_thread(
                self._mailroom.acknowledge,
                self._id,
                self._consumer,
                lease_of(subscription),
                handed[-1].letter.number,
            )

    def _is_silent(self) -> bool:
        now = time.monotonic()
        if now - self._spoke < _HEARTBEAT_SECONDS:
            return False
        self._spoke = now
        return True

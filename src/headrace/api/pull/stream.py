"""Server-sent events: the events of a mailbox, for as long as the consumer acknowledges them."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from typing import TYPE_CHECKING

from headrace.api.pull.cursors import Cursor
from headrace.api.pull.messages import lease_of
from headrace.api.requests.prefer import wait_for_any
from headrace.clock import CLOCK
from headrace.errors import Conflict, Forbidden, LogError, NotFound, StoreUnavailable, Unauthenticated

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from headrace.api.pull.messages import HandedMessage, MessageSource
    from headrace.api.pull.notifier import MailboxNotifier
    from headrace.ledger.pull.leases import MessageLeases
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
    """One consumer's stream. It sends at most `limit` events ahead of their acknowledgement.

    It ends when the consumer acknowledges nothing for a whole lease, with its subscription, when the service stops,
    when `find` raises because the consumer may not read any more, and after an hour. It survives the loss of a
    database or a broker.
    """

    def __init__(
        self,
        leases: MessageLeases,
        messages: MessageSource,
        notifier: MailboxNotifier,
        find: Callable[[str], Awaitable[Subscription]],
        closing: asyncio.Event,
        subscription_id: str,
        consumer: str,
        limit: int,
        *,
        alone: bool,
        when_sent: bool,
    ) -> None:
        self._leases = leases
        self._messages = messages
        self._notifier = notifier
        self._find = find
        self._closing = closing
        self._id = subscription_id
        self._consumer = consumer
        self._limit = limit
        self._alone = alone
        self._when_sent = when_sent
        self._spoke = 0.0

    async def run(self) -> AsyncIterator[bytes]:
        """Yield the bytes of the answer."""
        yield _BEGIN
        began = self._spoke = time.monotonic()
        with self._notifier.watch(self._id) as arrived:
            while not self._closing.is_set() and time.monotonic() < began + _LONGEST_SECONDS:
                arrived.clear()
                try:
                    subscription = await self._find(self._id)
                    capacity = await self._capacity()
                    if capacity is None:
                        yield b": nothing was acknowledged within the lease; connect again to continue\n\n"
                        return
                    handed = await self._take(subscription, capacity)
                    if handed:
                        yield b"".join(self._written(each) for each in handed)
                        await self._sent(subscription, handed)
                        continue
                    pause = _LOOK_SECONDS if capacity else _SOON_SECONDS
                except (NotFound, Conflict):
                    yield b": the subscription was deleted, or has a sink now\n\n"
                    return
                except (Unauthenticated, Forbidden):
                    yield b": the key or the token is no longer valid\n\n"
                    return
                except (StoreUnavailable, LogError) as error:
                    _log.warning("a stream of subscription %s continues later: %s", self._id, error)
                    pause = _AWAY_SECONDS
                if self._is_silent():
                    yield b": still here\n\n"
                await wait_for_any(arrived, self._closing, seconds=pause)

    async def _capacity(self) -> int | None:
        """Return how many more events may be sent; None if the consumer's lease has run out."""
        held, until = await asyncio.to_thread(self._leases.held, self._id, self._consumer)
        if held and until <= CLOCK.time():
            return None
        return max(0, self._limit - held)

    async def _take(self, subscription: Subscription, capacity: int) -> list[HandedMessage]:
        if not capacity:
            return []
        limit = min(capacity, _PAGE)
        return await asyncio.to_thread(
            self._messages.take, subscription, self._consumer, limit, alone=self._alone
        )

    def _written(self, handed: HandedMessage) -> bytes:
        self._spoke = time.monotonic()
        lines = b"\ndata: ".join(_LINES.split(handed.document))
        return f"id: {Cursor(self._consumer, handed.message.number)}\n".encode() + b"data: " + lines + b"\n\n"

    async def _sent(self, subscription: Subscription, handed: list[HandedMessage]) -> None:
        """Acknowledge what was sent, if the consumer asked for that."""
        if self._when_sent:
            await asyncio.to_thread(
                self._leases.acknowledge,
                self._id,
                self._consumer,
                lease_of(subscription),
                handed[-1].message.number,
            )

    def _is_silent(self) -> bool:
        now = time.monotonic()
        if now - self._spoke < _HEARTBEAT_SECONDS:
            return False
        self._spoke = now
        return True

"""Notification of waiting consumers: one query for all of them, instead of one for each."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.ledger.pull.leases import MessageLeases

_log = logging.getLogger(__name__)
_LOOK_SECONDS = 0.02
_AWAY_SECONDS = 1.0


class MailboxNotifier:
    """For one event loop. It queries only while somebody waits.

    Be careful: a notification may be missed when two dispatchers write at once, so check now and then yourself.
    """

    def __init__(self, leases: MessageLeases) -> None:
        self._leases = leases
        self._watched: dict[str, list[asyncio.Event]] = {}
        self._newest = 0
        self._following: asyncio.Task[None] | None = None

    @contextmanager
    def watch(self, subscription: str) -> Iterator[asyncio.Event]:
        """Yield an event that is set when a subscription gets messages; clear it before you look for them."""
        arrived = asyncio.Event()
        self._watched.setdefault(subscription, []).append(arrived)
        if self._following is None or self._following.done():
            self._following = asyncio.create_task(self._follow())
        try:
            yield arrived
        finally:
            self._watched[subscription].remove(arrived)
            if not self._watched[subscription]:
                del self._watched[subscription]

    async def _follow(self) -> None:
        while self._watched:
            try:
                self._newest, mailboxes = await asyncio.to_thread(self._leases.arrived, self._newest)
            except StoreUnavailable as error:
                _log.warning("consumers hear of new messages later: %s", error)
                await asyncio.sleep(_AWAY_SECONDS)
                continue
            for each in mailboxes & self._watched.keys():
                for arrived in self._watched[each]:
                    arrived.set()
            await asyncio.sleep(_LOOK_SECONDS)

"""Waiting for events without asking all the time: one look for everybody who waits, and a word to whom it concerns."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.ledger.pull.consumers import Mailroom

_log = logging.getLogger(__name__)
_LOOK_SECONDS = 0.02
_AWAY_SECONDS = 1.0


class Arrivals:
    """For one event loop. Nobody waits: nobody looks.

    Be careful: a word may be missed, where two dispatchers write at once. Who waits looks for itself now and then.
    """

    def __init__(self, mailroom: Mailroom) -> None:
        self._mailroom = mailroom
        self._expecting: dict[str, list[asyncio.Event]] = {}
        self._newest = 0
        self._following: asyncio.Task[None] | None = None

    @contextmanager
    def expecting(self, subscription: str) -> Iterator[asyncio.Event]:
        """Give an event that is set when anything comes in for a subscription; clear it before you look."""
        arrived = asyncio.Event()
        self._expecting.setdefault(subscription, []).append(arrived)
        if self._following is None or self._following.done():
            self._following = asyncio.create_task(self._follow())
        try:
            yield arrived
        finally:
            self._expecting[subscription].remove(arrived)
            if not self._expecting[subscription]:
                del self._expecting[subscription]

    async def _follow(self) -> None:
        while self._expecting:
            try:
                self._newest, mailboxes = await asyncio.to_thread(self._mailroom.arrived, self._newest)
            except StoreUnavailable as error:
                _log.warning("what comes in to be pulled is seen later: %s", error)
                await asyncio.sleep(_AWAY_SECONDS)
                continue
            for each in mailboxes & self._expecting.keys():
                for arrived in self._expecting[each]:
                    arrived.set()
            await asyncio.sleep(_LOOK_SECONDS)

"""The channels, known without a query for each event."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from headrace.errors import StoreUnavailable
from headrace.telemetry.health import HEALTH

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.subscriptions.channels.name import ChannelName
    from headrace.subscriptions.store.store import Store

_log = logging.getLogger(__name__)
_PART = "store"
_SILENT_AFTER = 60.0


class KnownChannels:
    """A copy of the store's channels. For one event loop; other processes' changes arrive with `follow`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known = frozenset(store.channels())

    def __contains__(self, channel: ChannelName) -> bool:
        return channel in self._known

    async def refresh(self) -> None:
        """Read the channels again."""
        self._known = frozenset(await asyncio.to_thread(self._store.channels))

    async def follow(self, seconds: float, report_loss: Callable[[str, str], None] = HEALTH.blocked) -> None:
        """Keep up with the store, for ever; `report_loss` gets the health part and the problem while it is lost."""
        revision = -1
        while True:
            await asyncio.sleep(seconds)
            try:
                seen = await asyncio.to_thread(self._store.revision)
                if seen != revision:
                    await self.refresh()
                    revision = seen
                HEALTH.idle(_PART, f"the store answers, at revision {seen}", _SILENT_AFTER)
            except StoreUnavailable as error:
                _log.warning("the last known channels are used: %s", error)
                report_loss(_PART, f"{error}; make sure that it runs and can be reached")

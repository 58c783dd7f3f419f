"""The channels' delivery objects, as the dispatcher knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.subscriptions.channels.name import ChannelName
    from headrace.subscriptions.store.store import Store


class ChannelDeliveries:
    """`refresh` blocks and belongs to one thread; `get` may be called from the event loop meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen = -1
        self._known: dict[ChannelName, dict[str, Any]] = {}

    def refresh(self) -> set[ChannelName]:
        """Follow the store; return the channels whose object changed. It costs one number while nothing does."""
        seen = self._store.revision()  # first: what changes while we read is seen again the next time
        if seen == self._seen:
            return set()
        before, self._known = self._known, self._store.channel_deliveries()
        self._seen = seen
        channels = before.keys() | self._known.keys()
        return {channel for channel in channels if before.get(channel) != self._known.get(channel)}

    def get(self, channel: ChannelName) -> Mapping[str, Any] | None:
        """Return the channel's delivery object as of the last refresh; None where it has none."""
        return self._known.get(channel)

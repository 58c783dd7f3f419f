"""The wants of all channels, kept at the store's revision: asking again costs what has changed, not what there is."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from headrace.interest.channel_interest import ChannelInterest
from headrace.interest.interest import Interest
from headrace.interest.wants import want_of

if TYPE_CHECKING:
    from headrace.interest.settings import InterestSettings
    from headrace.subscriptions.channels.name import ChannelName
    from headrace.subscriptions.store.store import Store
    from headrace.subscriptions.subscription import Subscription


class Interests:
    """Any number of threads may ask. Nothing is read before somebody does."""

    def __init__(self, store: Store, settings: InterestSettings) -> None:
        self._store = store
        self._settings = settings
        self._lock = threading.Lock()
        self._revision = -1
        self._loaded = 0
        self._channels: dict[ChannelName, ChannelInterest] = {}
        self._ids: dict[ChannelName, dict[str, bytes]] = {}
        self._unchecked: set[ChannelName] = set()

    def of(self, channel: ChannelName) -> Interest:
        """Return the interest of everybody whose subscription was accepted before this was called."""
        with self._lock:
            # The revision first: the changes up to it can be seen from then on.
            revision = self._store.revision()
            if revision != self._revision:
                self._follow()
                self._revision = revision
            if channel in self._unchecked:
                self._forget_the_purged(channel)
                self._unchecked.discard(channel)
            joined = self._held(channel).joined()
            count = len(self._ids.get(channel, ()))
        return Interest(channel, revision, count, joined.text, lambda: joined.bloom)

    def close(self) -> None:
        """End what is being made."""
        with self._lock:
            for each in self._channels.values():
                each.close()

    def _held(self, channel: ChannelName) -> ChannelInterest:
        if channel not in self._channels:
            self._channels[channel] = ChannelInterest(channel, self._settings.longest)
        return self._channels[channel]

    def _follow(self) -> None:
        self._loaded, changed = self._store.changes(self._loaded)
        for subscription in changed:
            self._take(subscription)
        self._unchecked = set(self._ids)

    def _take(self, subscription: Subscription) -> None:
        held, ids = self._held(subscription.channel), self._ids.setdefault(subscription.channel, {})
        old = ids.pop(subscription.id, None)
        if not subscription.deleting:
            want = want_of(subscription)
            ids[subscription.id] = want
            held.add(want)
        if old is not None:
            held.remove(old)

    def _forget_the_purged(self, channel: ChannelName) -> None:
        """Leave out who was deleted, and purged before this could hear of it."""
        ids = self._ids[channel]
        if self._store.count_listeners(channel) >= len(ids):
            return
        for gone in ids.keys() - set(self._store.listeners(channel, len(ids))):
            self._held(channel).remove(ids.pop(gone))

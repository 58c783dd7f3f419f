"""The interest of all channels, kept at the store's revision: a query costs what has changed, not what there is."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.filters import compile_filter
from headrace.filters.ir.parts import paths_of
from headrace.interest.channel_interest import ChannelInterest
from headrace.interest.criteria import criterion_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.filters.upstream.bloom import ExportedBloom
    from headrace.interest.settings import InterestSettings
    from headrace.interest.union import InterestText
    from headrace.subscriptions.channels.name import ChannelName
    from headrace.subscriptions.store.store import Store
    from headrace.subscriptions.subscription import Subscription


_SHOWN = 32


@dataclass(frozen=True, slots=True)
class Interest:
    """The interest of one channel: of all subscriptions at the revision, paused ones included, deleted ones not."""

    channel: ChannelName
    revision: int
    subscriptions: int
    text: InterestText
    make_bloom: Callable[[], ExportedBloom]

    @property
    def etag(self) -> str:
        """The ETag of the expression; other changes don't affect it."""
        return _tag(f"{self.text.exact} {self.text.cel}".encode())

    @property
    def variables(self) -> list[str]:
        """The variables that an evaluator of the expression has to bind."""
        expression = compile_filter({"cel": self.text.cel}).expression
        return sorted({path.steps[0] for path in paths_of(expression)})

    def bloom(self) -> tuple[bytes, str]:
        """Return the Bloom filter's bytes and their ETag; the first call takes some time."""
        data = self.make_bloom().to_bytes()
        return data, _tag(data)


class Interests:
    """Threads may share it. Nothing is read before the first query."""

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
        """Return the interest of all subscriptions that were accepted before this call."""
        with self._lock:
            # Read the revision first: all changes up to it are visible after that.
            revision = self._store.revision()
            if revision != self._revision:
                self._follow()
                self._revision = revision
            if channel in self._unchecked:
                self._remove_purged(channel)
                self._unchecked.discard(channel)
            joined = self._held(channel).joined()
            count = len(self._ids.get(channel, ()))
        return Interest(channel, revision, count, joined.text, lambda: joined.bloom)

    def close(self) -> None:
        """Stop builds under way."""
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
            criterion = criterion_of(subscription)
            ids[subscription.id] = criterion
            held.add(criterion)
        if old is not None:
            held.remove(old)

    def _remove_purged(self, channel: ChannelName) -> None:
        """Remove subscriptions that were deleted and purged before this was told."""
        ids = self._ids[channel]
        if self._store.count_listeners(channel) >= len(ids):
            return
        for gone in ids.keys() - set(self._store.listeners(channel, len(ids))):
            self._held(channel).remove(ids.pop(gone))


def _tag(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:_SHOWN]}"'

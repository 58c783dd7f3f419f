"""Shards of the index, for more subscriptions than fit into a worker's memory.

A subscription's id decides its shard. Each shard has a base and rosters of its own, each event visits every shard, and
a worker holds one shard at a time.
"""

from __future__ import annotations

import shutil
import zlib
from typing import TYPE_CHECKING

from headrace.pipeline.roster.writer import RosterWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headrace.events.positions import LogPosition
    from headrace.matching.settings import MatchingSettings
    from headrace.subscriptions.store.set_aside import SetAside
    from headrace.subscriptions.store.store import Store
    from headrace.subscriptions.subscription import Subscription


def shard_of(subscription: str, shards: int) -> int:
    """Return the shard of a subscription id: the same in every process and every version."""
    return zlib.crc32(subscription.encode()) % shards


class ShardedRosters:
    """The rosters of all shards. Lives in the source's process."""

    def __init__(
        self, folder: Path, store: Store, end_of_log: Callable[[], LogPosition], matching: MatchingSettings
    ) -> None:
        shards = matching.shards
        folders = [folder / f"{shard}-of-{shards}" for shard in range(shards)]
        folder.mkdir(parents=True, exist_ok=True)
        _remove_others(folder, folders)
        self._view = _StoreView(store)
        self._writers = [
            RosterWriter(each, _ShardView(self._view, shard, shards), end_of_log, matching)
            for shard, each in enumerate(folders)
        ]

    def current(self, routed: LogPosition) -> list[Path]:
        """Return a roster for each shard, together covering everything the store holds now."""
        self._view.refresh()
        return [writer.current(routed) for writer in self._writers]


class _StoreView:
    """The store as it was when last refreshed, so that it is read once and not once per shard."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.refresh()

    def refresh(self) -> None:
        self._changes: dict[int, tuple[int, list[Subscription]]] = {}
        # Later changes have a higher revision, and the next refresh finds them.
        self.revision = self.store.revision()

    def changes(self, since: int) -> tuple[int, list[Subscription]]:
        if since not in self._changes:
            self._changes[since] = self.store.changes(since)
        return self._changes[since]


class _ShardView:
    """The subscriptions of one shard, as a `SubscriptionSource`."""

    def __init__(self, view: _StoreView, shard: int, shards: int) -> None:
        self._view = view
        self._shard = shard
        self._shards = shards

    def revision(self) -> int:
        return self._view.revision

    def settle(self, end_of_log: Callable[[], LogPosition]) -> None:
        self._view.store.settle(end_of_log)

    def changes(self, since: int) -> tuple[int, list[Subscription]]:
        reached, changed = self._view.changes(since)
        return reached, [each for each in changed if self._has(each.id)]

    def bounds(self) -> dict[str, tuple[LogPosition | None, LogPosition | None]]:
        return {each: bound for each, bound in self._view.store.bounds().items() if self._has(each)}

    def ids(self, revision: int | None = None) -> set[str]:
        return {each for each in self._view.store.ids(revision) if self._has(each)}

    def set_aside(self, records: Sequence[SetAside]) -> None:
        self._view.store.set_aside(records)

    def _has(self, subscription: str) -> bool:
        return self._shards == 1 or shard_of(subscription, self._shards) == self._shard


def _remove_others(folder: Path, used: Sequence[Path]) -> None:
    """Remove the files of another number of shards."""
    for each in folder.iterdir():
        if each not in used:
            shutil.rmtree(each) if each.is_dir() else each.unlink()

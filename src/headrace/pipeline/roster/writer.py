"""Writing rosters as the store changes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

import msgspec

from headrace.errors import SnapshotRefused
from headrace.eventlog.local.files import copy_permissions, write_atomically
from headrace.events.positions import MOST_PARTITIONS, LogPosition, position_at
from headrace.matching import Matcher
from headrace.matching.settings import MatchingSettings
from headrace.pipeline.roster.base import Base, BaseBuild
from headrace.pipeline.roster.bounds import Bound, last_of
from headrace.pipeline.roster.format import Changes, Roster, differing, entry_of
from headrace.telemetry.health import FOREVER, HEALTH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headrace.subscriptions.store.set_aside import SetAside
    from headrace.subscriptions.subscription import Subscription

_log = logging.getLogger(__name__)

_NEVER = LogPosition.at(position_at(MOST_PARTITIONS - 1, 1))
_PART = "index"
_KEPT = 3
_FEW_CHANGES = 512
_MANY_CHANGES = 10_000
_SHARE = 20
"""A new base is built when more than one in so many subscriptions of the old one has changed."""


class SubscriptionSource(Protocol):
    """The store, or what a shard sees of it. Each method is the store's."""

    def revision(self) -> int: ...  # noqa: D102
    def settle(self, end_of_log: Callable[[], LogPosition]) -> None: ...  # noqa: D102
    def changes(self, since: int) -> tuple[int, list[Subscription]]: ...  # noqa: D102
    def bounds(self) -> dict[str, tuple[LogPosition | None, LogPosition | None]]: ...  # noqa: D102
    def ids(self, revision: int | None = None) -> set[str]: ...  # noqa: D102
    def set_aside(self, records: Sequence[SetAside]) -> None: ...  # noqa: D102


class RosterWriter:
    """Writes a roster whenever the store has changed. Lives in the source's process."""

    def __init__(
        self,
        folder: Path,
        store: SubscriptionSource,
        end_of_log: Callable[[], LogPosition],
        matching: MatchingSettings | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._store = store
        self._end_of_log = end_of_log
        self._matching = matching or MatchingSettings()
        self._changes: Changes = {}
        self._bounds: dict[str, Bound] = {}
        self._unbounded_at: LogPosition = _NEVER  # where no bound is needed any more
        self._revision = -1
        self._path = folder / "none"
        self._base, self._loaded = self._newest_base()
        self._build: BaseBuild | None = None

    def current(self, routed: LogPosition) -> Path:
        """Return a roster of everything the store holds now, for a batch that begins at `routed`."""
        revision = self._store.revision()
        has_new_base = self._take_base()
        if revision != self._revision or has_new_base or self._unbounded_at <= routed:
            self._store.settle(self._end_of_log)
            self._load_changes(routed)
            self._revision = revision
            self._build_base_if_due()
            self._write()
        return self._path

    def _newest_base(self) -> tuple[Base | None, int]:
        """Return the newest usable base and its revision, after noting how the store differs from it."""
        for path in sorted(self._folder.glob("*.index"), reverse=True):
            try:
                matcher = Matcher.open(path)
            except SnapshotRefused as refused:
                _log.warning("%s; it is written anew", refused)
                path.unlink(missing_ok=True)
                continue
            revision = int(path.stem.partition("-")[0])
            if revision <= self._store.revision():
                self._compare(matcher.ids(), revision)
                return Base(path, len(matcher)), revision
            path.unlink(missing_ok=True)
        return None, 0

    def _compare(self, ids: set[str], revision: int) -> None:
        """Note how the store differs from a base with these ids."""
        bounds, left_out = self._store.bounds(), self._left_out(ids, revision)
        # A subscription that was purged while nobody followed has left no change behind.
        self._changes = dict.fromkeys(ids - bounds.keys()) | left_out
        self._bounds = {
            each: Bound.of(created, deleted)
            for each, (created, deleted) in bounds.items()
            if created is not None and (each in ids or each in left_out)
        }

    def _left_out(self, ids: set[str], revision: int) -> Changes:
        """Return the subscriptions that a base lacks: ended ones, and ones whose filters a version refused."""
        left_out = self._store.ids(revision) - ids
        if not left_out:
            return {}
        return {each.id: entry_of(each) for each in self._store.changes(0)[1] if each.id in left_out}

    def _load_changes(self, routed: LogPosition) -> None:
        self._loaded, changed = self._store.changes(self._loaded)
        for subscription in changed:
            if subscription.created is None:
                continue  # settled in a later revision, which brings it here again
            self._changes[subscription.id] = entry_of(subscription)
            self._bounds[subscription.id] = Bound.of(subscription.created, subscription.deleted)
        for subscription_id, bound in list(self._bounds.items()):
            if bound.has_ended(routed):
                self._forget(subscription_id)
            elif bound.deleted is None and bound.has_begun(routed):
                del self._bounds[subscription_id]
        self._unbounded_at = last_of(self._bounds.values()) if self._bounds else _NEVER

    def _forget(self, subscription_id: str) -> None:
        del self._bounds[subscription_id]
        if self._base is None and self._build is None:
            self._changes.pop(subscription_id, None)
        else:
            self._changes[subscription_id] = None

    def _build_base_if_due(self) -> None:
        is_import = len(self._changes) > _MANY_CHANGES
        if is_import and self._build is not None:
            self._await_base(self._build)
        base = self._base
        most_changes = max(_FEW_CHANGES, base.size // _SHARE if base else 0)
        if self._build is not None or len(self._changes) <= most_changes:
            return
        path = self._folder / f"{self._loaded:020d}-{len(self._changes)}.index"
        self._build = BaseBuild(base.path if base else None, dict(self._changes), path, self._matching)
        if base is None or is_import:
            self._await_base(self._build)  # without it, every worker would compile every filter

    def _await_base(self, build: BaseBuild) -> None:
        HEALTH.working(_PART, f"compiling {len(build.changes):,} filters; events wait for it", FOREVER)
        try:
            build.wait()
        finally:
            HEALTH.forget(_PART)
        self._take_base()

    def _take_base(self) -> bool:
        """Switch to a new base if one is ready; what has changed since its build began stays a change."""
        build = self._build
        if build is None or not build.is_ready:
            return False
        self._build = None
        if build.base is None:
            return False
        self._base = build.base
        self._store.set_aside(build.refused)
        self._changes = differing(self._changes, build.changes)
        return True

    def _write(self) -> None:
        base = self._base.path if self._base else None
        name = f"{self._loaded:020d}.{len(self._bounds)}-{base.stem if base else 'none'}.json"
        path = self._folder / name
        roster = Roster(base.name if base else None, self._changes, self._bounds, self._matching)
        content = msgspec.json.encode(roster)
        if path == self._path and path.read_bytes() == content:
            return
        write_atomically(path, content)
        copy_permissions(self._folder, path)
        self._path = path
        self._sweep()

    def _sweep(self) -> None:
        """Remove old files, except the last few rosters and their bases, which workers may still read."""
        rosters = sorted(self._folder.glob("*.json"), key=lambda each: each.stat().st_mtime_ns)
        for old in rosters[:-_KEPT]:
            old.unlink(missing_ok=True)
        used = {f"{each.stem.split('-', 1)[1]}.index" for each in rosters[-_KEPT:]}
        for base in sorted(self._folder.glob("*.index"))[:-1]:
            if base.name not in used:
                base.unlink(missing_ok=True)

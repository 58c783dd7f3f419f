"""The subscriptions that a batch is matched against, as files that every worker reads.

A base is a snapshot of the index, mapped and shared by all workers. A roster names a base and lists what has changed
since; its own name is the store's revision it shows. Since it carries the cuts between which subscriptions hold, any
roster written after a batch's end was read gives the same matches for that batch.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from headrace.errors import HeadraceError, SnapshotRefused
from headrace.eventlog.local.files import take_rights_of, write_whole
from headrace.events.positions import MOST_LANES, Cut, position_at
from headrace.matching import Matcher, Scope
from headrace.matching.rules.programs import Programs
from headrace.matching.settings import MatchingSettings
from headrace.pipeline.roster.node_cache import open_here
from headrace.pipeline.route.bounds import Bound, Bounds, last_of
from headrace.subscriptions.store.set_aside import SetAside, of_subscription
from headrace.telemetry.health import FOREVER, HEALTH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headrace.subscriptions.subscription import Subscription

_log = logging.getLogger(__name__)

_NEVER = Cut.at(position_at(MOST_LANES - 1, 1))
_PART = "index"
_KEPT = 3
_FEW_CHANGES = 512
_MANY_CHANGES = 10_000
_SHARE = 20
"""A new base is made when more than one in so many subscriptions of the old one has changed."""


class Entry(msgspec.Struct, array_like=True, frozen=True):
    """A subscription as workers need it."""

    id: str
    namespace: str
    channel: str
    source: str | None
    types: tuple[str, ...]
    filters: tuple[Any, ...]


class Roster(msgspec.Struct):
    """A base's file name, if there is one, and what has changed since: entries by id, or None for who is gone.

    `bounds` lists who begins or ends behind what was routed when the roster was written.
    """

    base: str | None
    changes: dict[str, Entry | None]
    bounds: dict[str, Bound] = msgspec.field(default_factory=dict)
    matching: MatchingSettings = msgspec.field(default_factory=MatchingSettings)


class Followed(Protocol):
    """What a roster follows: the store, or what a shard sees of it. Each method is the store's."""

    def revision(self) -> int: ...  # noqa: D102
    def settle(self, end_of_log: Callable[[], Cut]) -> None: ...  # noqa: D102
    def changes(self, since: int) -> tuple[int, list[Subscription]]: ...  # noqa: D102
    def bounds(self) -> dict[str, tuple[Cut | None, Cut | None]]: ...  # noqa: D102
    def ids(self, revision: int | None = None) -> set[str]: ...  # noqa: D102
    def set_aside(self, records: Sequence[SetAside]) -> None: ...  # noqa: D102


class RosterWriter:
    """Follows the store's changes and writes a roster when there are any. Lives in the source's process."""

    def __init__(
        self,
        folder: Path,
        store: Followed,
        end_of_log: Callable[[], Cut],
        matching: MatchingSettings | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._store = store
        self._end_of_log = end_of_log
        self._matching = matching or MatchingSettings()
        self._changes: dict[str, Entry | None] = {}
        self._bounds: dict[str, Bound] = {}
        self._outlived: Cut = _NEVER  # where no bound is needed any more
        self._revision = -1
        self._path = folder / "none"
        self._base, self._loaded = self._newest_base()
        self._rebasing: _Rebase | None = None

    def current(self, routed: Cut) -> Path:
        """Return a roster of everything the store holds now; `routed` is the cut at which the batch begins."""
        revision = self._store.revision()
        rebased = self._take_base()
        if revision != self._revision or rebased or self._outlived <= routed:
            self._store.settle(self._end_of_log)
            self._follow(routed)
            self._revision = revision
            self._rebase_if_due()
            self._write()
        return self._path

    def _newest_base(self) -> tuple[_Base | None, int]:
        """Return the last base that can be used, brought to what the store still knows, and its revision."""
        for path in sorted(self._folder.glob("*.index"), reverse=True):
            try:
                matcher = Matcher.open(path)
            except SnapshotRefused as refused:
                _log.warning("%s; it is written anew", refused)
                path.unlink(missing_ok=True)
                continue
            revision = int(path.stem.partition("-")[0])
            if revision <= self._store.revision():
                bounds, ids = self._store.bounds(), matcher.ids()
                # Who was purged while nobody followed has no change to tell of it.
                self._changes = dict.fromkeys(ids - bounds.keys())
                self._changes |= (left_out := self._left_out(ids, revision))
                self._bounds = {
                    each: Bound.of(created, deleted)
                    for each, (created, deleted) in bounds.items()
                    if created is not None and (each in ids or each in left_out)
                }
                return _Base(path, len(matcher)), revision
            path.unlink(missing_ok=True)
        return None, 0

    def _left_out(self, ids: set[str], revision: int) -> dict[str, Entry | None]:
        """Return who isn't in a base: they had ended, or their filters were refused, perhaps by another version."""
        left_out = self._store.ids(revision) - ids
        if not left_out:
            return {}
        return {each.id: _entry(each) for each in self._store.changes(0)[1] if each.id in left_out}

    def _follow(self, routed: Cut) -> None:
        self._loaded, changed = self._store.changes(self._loaded)
        for subscription in changed:
            if subscription.created is None:
                continue  # settled in a later revision, which brings it here again
            self._changes[subscription.id] = _entry(subscription)
            self._bounds[subscription.id] = Bound.of(subscription.created, subscription.deleted)
        for subscription_id, bound in list(self._bounds.items()):
            if bound.has_ended(routed):
                self._forget(subscription_id)
            elif bound.deleted is None and bound.has_begun(routed):
                del self._bounds[subscription_id]
        self._outlived = last_of(self._bounds.values()) if self._bounds else _NEVER

    def _forget(self, subscription_id: str) -> None:
        del self._bounds[subscription_id]
        if self._base is None and self._rebasing is None:
            self._changes.pop(subscription_id, None)
        else:
            self._changes[subscription_id] = None

    def _rebase_if_due(self) -> None:
        is_import = len(self._changes) > _MANY_CHANGES
        if is_import and self._rebasing is not None:
            self._await_base(self._rebasing)
        base = self._base
        if self._rebasing is not None or len(self._changes) <= max(
            _FEW_CHANGES, base.size // _SHARE if base else 0
        ):
            return
        path = self._folder / f"{self._loaded:020d}-{len(self._changes)}.index"
        self._rebasing = _Rebase(base.path if base else None, dict(self._changes), path, self._matching)
        if base is None or is_import:
            self._await_base(self._rebasing)  # without it, every worker would compile every filter

    def _await_base(self, rebasing: _Rebase) -> None:
        HEALTH.working(_PART, f"compiling {len(rebasing.changes):,} filters; events wait for it", FOREVER)
        try:
            rebasing.wait()
        finally:
            HEALTH.forget(_PART)
        self._take_base()

    def _take_base(self) -> bool:
        """Go over to a new base where one is ready; what has changed since it was begun stays a change."""
        rebasing = self._rebasing
        if rebasing is None or not rebasing.is_ready:
            return False
        self._rebasing = None
        if rebasing.base is None:
            return False
        self._base = rebasing.base
        self._store.set_aside(rebasing.refused)
        self._changes = {
            each: entry
            for each, entry in self._changes.items()
            if each not in rebasing.changes or rebasing.changes[each] != entry
        }
        return True

    def _write(self) -> None:
        base = self._base.path.name if self._base else None
        shown = f"{self._loaded:020d}.{len(self._bounds)}"
        path = self._folder / f"{shown}-{self._base.path.stem if self._base else 'none'}.json"
        content = msgspec.json.encode(Roster(base, self._changes, self._bounds, self._matching))
        if path == self._path and path.read_bytes() == content:
            return
        write_whole(path, content)
        take_rights_of(self._folder, path)
        self._path = path
        self._sweep()

    def _sweep(self) -> None:
        """Remove old files; workers may still read the last few rosters and their bases."""
        rosters = sorted(self._folder.glob("*.json"), key=lambda each: each.stat().st_mtime_ns)
        for old in rosters[:-_KEPT]:
            old.unlink(missing_ok=True)
        used = {f"{each.stem.split('-', 1)[1]}.index" for each in rosters[-_KEPT:]}
        for base in sorted(self._folder.glob("*.index"))[:-1]:
            if base.name not in used:
                base.unlink(missing_ok=True)


class _Base(msgspec.Struct, frozen=True):
    path: Path
    size: int


class _Rebase:
    """A new base in the making, in a thread of its own: compiling takes long, and batches go on."""

    def __init__(
        self, old: Path | None, changes: dict[str, Entry | None], path: Path, matching: MatchingSettings
    ) -> None:
        self.changes = changes
        self.refused: list[SetAside] = []
        self._matching = matching
        self.base: _Base | None = None
        self._old = old
        self._path = path
        self._thread = threading.Thread(target=self._run, name="headrace-rebase", daemon=True)
        self._thread.start()

    @property
    def is_ready(self) -> bool:
        return not self._thread.is_alive()

    def wait(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        try:
            bloom = self._matching.bloom
            matcher = Matcher(bloom) if self._old is None else Matcher.open(self._old, bloom)
            self.refused = apply_changes(matcher, self.changes, Programs(self._matching.cel.cache_size))
            matcher.save(self._path)
            take_rights_of(self._path.parent, self._path)
            self.base = _Base(self._path, len(matcher))
        except Exception:  # noqa: BLE001 -- logged with its trace
            # Nothing is lost without it: rosters go on listing the changes, and it is tried again.
            _log.exception("no new base of the index could be written")


def _entry(subscription: Subscription) -> Entry:
    return Entry(
        subscription.id,
        subscription.channel.namespace,
        subscription.channel.name,
        subscription.source,
        subscription.types,
        subscription.filters,
    )


def apply_changes(matcher: Matcher, changes: dict[str, Entry | None], programs: Programs) -> list[SetAside]:
    """Bring a matcher to what the changes say, and return whose filters can't be used: they match nothing."""
    refused = []
    for subscription_id, entry in changes.items():
        if entry is None:
            if subscription_id in matcher:
                matcher.remove(subscription_id)
            continue
        scope = Scope(
            namespace=entry.namespace,
            channel=entry.channel,
            source=entry.source,
            types=entry.types,
        )
        try:
            matcher.add(entry.id, programs.compile(entry.filters), scope=scope)
        except Exception as error:  # noqa: BLE001  whatever a filter does, the others have to work
            if entry.id in matcher:
                matcher.remove(entry.id)
            refused.append(_refusal(entry, error))
    return refused


def _refusal(entry: Entry, error: Exception) -> SetAside:
    reason = str(error) if isinstance(error, HeadraceError) else repr(error)
    return of_subscription(entry.id, entry.namespace, entry.channel, f"its filters can't be used: {reason}")


class RosterReader:
    """Keeps a matcher, and the bounds of what it finds, at the roster that was last asked for.

    Belongs to one thread of a worker.
    """

    def __init__(self) -> None:
        self.path: Path | None = None
        self.bounds = Bounds({})
        self._roster = Roster(None, {})
        self._matcher = Matcher()
        self._programs = Programs()
        self._refused: list[SetAside] = []

    def take_refused(self) -> list[SetAside]:
        """Return whose filters were refused since the last call."""
        refused, self._refused = self._refused, []
        return refused

    def matcher(self, path: Path) -> Matcher:
        """Return the matcher of a roster; from one roster to the next only the difference is compiled."""
        if path != self.path:
            self._go_to(path.parent, msgspec.json.decode(path.read_bytes(), type=Roster))
            self.path = path
        return self._matcher

    def _go_to(self, folder: Path, roster: Roster) -> None:
        old = self._roster
        has_moved = self.path is not None and self.path.parent != folder  # to the files of another shard
        is_another = has_moved or (roster.base, roster.matching) != (old.base, old.matching)
        if is_another or old.changes.keys() - roster.changes.keys():
            settings = roster.matching.bloom, roster.matching.cel
            if roster.base is None:
                self._matcher = Matcher(*settings)
            else:
                self._matcher = open_here(folder / roster.base, lambda path: Matcher.open(path, *settings))
            old = Roster(roster.base, {})
        new = {
            each: entry
            for each, entry in roster.changes.items()
            if each not in old.changes or old.changes[each] != entry
        }
        self._programs.size = roster.matching.cel.cache_size
        self._refused += apply_changes(self._matcher, new, self._programs)
        self._programs.publish()
        self._roster = roster
        self.bounds = Bounds(roster.bounds)

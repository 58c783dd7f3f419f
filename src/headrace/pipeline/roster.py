"""The subscriptions that a batch is matched against, as a file that every worker reads.

A roster's name is the store's revision it shows. Since each subscription carries the positions between which it
holds, any roster written after a batch's end was read gives the same matches for that batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from headrace.eventlog.local.files import write_whole
from headrace.matching import Matcher, Scope
from headrace.matching.programs import Programs
from headrace.matching.settings import MatchingSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.subscriptions.store import Store
    from headrace.subscriptions.subscription import Subscription

_KEPT = 3


class _Entry(msgspec.Struct, array_like=True):
    id: str
    namespace: str
    channel: str
    source: str | None
    types: tuple[str, ...]
    filters: tuple[Any, ...]
    created: int
    deleted: int | None


class _Roster(msgspec.Struct):
    matching: MatchingSettings
    entries: list[_Entry]


class RosterWriter:
    """Follows the store's changes and writes a roster when there are any. Lives in the source's process."""

    def __init__(
        self,
        folder: Path,
        store: Store,
        end_of_log: Callable[[], int],
        matching: MatchingSettings | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._store = store
        self._end_of_log = end_of_log
        self._matching = matching or MatchingSettings()
        self._entries: dict[str, _Entry] = {}
        self._revision = -1
        self._loaded = 0
        self._path = folder / "none"

    def current(self, routed: int) -> Path:
        """Return a roster of everything the store holds now; `routed` is where the batch begins."""
        revision = self._store.revision()
        if revision != self._revision:
            self._store.settle(self._end_of_log)
            self._follow(routed)
            self._revision = revision
            self._write(self._folder / f"{self._loaded:020d}.json")
        return self._path

    def _write(self, path: Path) -> None:
        if path != self._path:
            write_whole(path, msgspec.json.encode(_Roster(self._matching, list(self._entries.values()))))
            self._path = path
            for old in sorted(self._folder.glob("*.json"))[:-_KEPT]:
                old.unlink(missing_ok=True)

    def _follow(self, routed: int) -> None:
        self._loaded, changed = self._store.changes(self._loaded)
        for subscription in changed:
            entry = _entry(subscription)
            if entry is not None:
                self._entries[entry.id] = entry
        ended = [e.id for e in self._entries.values() if e.deleted is not None and e.deleted <= routed]
        for subscription_id in ended:
            del self._entries[subscription_id]


def _entry(subscription: Subscription) -> _Entry | None:
    if subscription.created is None:
        return None  # settled in a later revision, which brings it here again
    return _Entry(
        subscription.id,
        subscription.channel.namespace,
        subscription.channel.name,
        subscription.source,
        subscription.types,
        subscription.filters,
        subscription.created,
        subscription.deleted,
    )


def load_roster(path: Path, programs: Programs | None = None) -> Matcher:
    """Build the matcher of a roster, with the settings it holds; programs know filters of rosters before it."""
    roster = msgspec.json.decode(path.read_bytes(), type=_Roster)
    matcher = Matcher(roster.matching.bloom, roster.matching.cel)
    programs = Programs() if programs is None else programs
    programs.size = roster.matching.cel.cache_size
    for entry in roster.entries:
        scope = Scope(
            namespace=entry.namespace,
            channel=entry.channel,
            source=entry.source,
            types=entry.types,
            created=entry.created,
            deleted=entry.deleted,
        )
        matcher.add(entry.id, programs.compile(entry.filters), scope=scope)
    programs.publish()
    return matcher

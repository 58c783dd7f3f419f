"""Reading rosters in a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from headrace.matching import Matcher
from headrace.matching.rules.programs import Programs
from headrace.pipeline.roster.base import apply_changes
from headrace.pipeline.roster.bounds import Bounds
from headrace.pipeline.roster.format import Roster, differing
from headrace.pipeline.roster.node_cache import open_cached

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.subscriptions.store.set_aside import SetAside


class RosterReader:
    """Keeps a matcher, and the bounds of its subscriptions, at the roster that was last asked for.

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
        """Return the subscriptions whose filters were refused since the last call."""
        refused, self._refused = self._refused, []
        return refused

    def matcher(self, path: Path) -> Matcher:
        """Return the matcher of a roster; from one roster to the next only the difference is compiled."""
        if path != self.path:
            self._load(path.parent, msgspec.json.decode(path.read_bytes(), type=Roster))
            self.path = path
        return self._matcher

    def _load(self, folder: Path, roster: Roster) -> None:
        old = self._roster
        has_moved = self.path is not None and self.path.parent != folder  # to the files of another shard
        is_another = has_moved or (roster.base, roster.matching) != (old.base, old.matching)
        if is_another or old.changes.keys() - roster.changes.keys():
            settings = roster.matching.bloom, roster.matching.cel
            if roster.base is None:
                self._matcher = Matcher(*settings)
            else:
                self._matcher = open_cached(folder / roster.base, lambda path: Matcher.open(path, *settings))
            old = Roster(roster.base, {})
        self._programs.size = roster.matching.cel.cache_size
        new = differing(roster.changes, old.changes)
        self._refused += apply_changes(self._matcher, new, self._programs)
        self._programs.publish()
        self._roster = roster
        self.bounds = Bounds(roster.bounds)

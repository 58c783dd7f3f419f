"""Bases: snapshots of the index, and how changes are applied to one."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import HeadraceError
from headrace.eventlog.local.files import copy_permissions
from headrace.matching import Matcher, Scope
from headrace.matching.rules.programs import Programs
from headrace.subscriptions.store.set_aside import SetAside, of_subscription

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.matching.settings import MatchingSettings
    from headrace.pipeline.roster.format import Changes, Entry

_log = logging.getLogger(__name__)


class Base(NamedTuple):
    """A snapshot's file, and how many subscriptions it has."""

    path: Path
    size: int


class BaseBuild:
    """Builds a new base in a thread of its own: compiling takes long, and batches go on meanwhile."""

    def __init__(self, old: Path | None, changes: Changes, path: Path, matching: MatchingSettings) -> None:
        self.changes = changes
        self.refused: list[SetAside] = []
        self.base: Base | None = None
        self._matching = matching
        self._old = old
        self._path = path
        self._thread = threading.Thread(target=self._run, name="headrace-rebase", daemon=True)
        self._thread.start()

    @property
    def is_ready(self) -> bool:
        """Whether it has ended; `base` is None where it failed."""
        return not self._thread.is_alive()

    def wait(self) -> None:
        """Wait until it has ended."""
        self._thread.join()

    def _run(self) -> None:
        try:
            bloom = self._matching.bloom
            matcher = Matcher(bloom) if self._old is None else Matcher.open(self._old, bloom)
            self.refused = apply_changes(matcher, self.changes, Programs(self._matching.cel.cache_size))
            matcher.save(self._path)
            copy_permissions(self._path.parent, self._path)
            self.base = Base(self._path, len(matcher))
        except Exception:  # noqa: BLE001 -- logged with its trace
            # Nothing is lost: rosters go on listing the changes, and the next roster tries again.
            _log.exception("writing a new base of the index failed")


def apply_changes(matcher: Matcher, changes: Changes, programs: Programs) -> list[SetAside]:
    """Apply changes to a matcher; return the subscriptions whose filters can't be used, which match nothing."""
    refused = []
    for subscription_id, entry in changes.items():
        if entry is None:
            if subscription_id in matcher:
                matcher.remove(subscription_id)
            continue
        scope = Scope(entry.namespace, entry.channel, entry.source, entry.types)
        try:
            matcher.add(entry.id, programs.compile(entry.filters, entry.compiled), scope=scope)
        except Exception as error:  # noqa: BLE001  whatever a filter does, the others have to work
            if entry.id in matcher:
                matcher.remove(entry.id)
            refused.append(_refusal(entry, error))
    return refused


def _refusal(entry: Entry, error: Exception) -> SetAside:
    reason = str(error) if isinstance(error, HeadraceError) else repr(error)
    return of_subscription(entry.id, entry.namespace, entry.channel, f"its filters can't be used: {reason}")

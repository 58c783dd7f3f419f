"""The criteria of one channel, and their union.

Few criteria are joined again when they change. Many have a base, which is built in another process, and a delta of
criteria that were added since; criteria removed since are still in the base, so the union is then not exact. While
there is no base yet, or the delta is too large, the union lets everything through.
"""

from __future__ import annotations

import logging
import subprocess
import threading
import time
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from headrace.errors import UnreadableExport
from headrace.filters import compile_filter
from headrace.filters.backends.cel import write_cel
from headrace.filters.ir.expression import any_of
from headrace.filters.rewrites.flatten import flatten
from headrace.filters.rewrites.fold import fold
from headrace.filters.upstream.bloom import ExportedBloom
from headrace.interest.union import BuildProcess, BuildTask, InterestText, write_bloom, write_text

if TYPE_CHECKING:
    from headrace.subscriptions.channels.name import ChannelName

_log = logging.getLogger(__name__)

FEW = 500
"""This many criteria are joined at once, in tenths of a second."""

MANY = 2000
"""A larger delta is not joined with the base: a new base is built."""

_BASE_SHARE = 0.75
_REST = 20
"""A new base waits this many times as long as the last one took, so that building takes a twentieth of a core."""

_BETWEEN = len("() || ()")
_AFTER_FAILURE = 60.0
_OPEN = InterestText("true", exact=False)
_EVERYTHING = (b"[null,[],[]]",)


@dataclass(frozen=True)
class _Base:
    criteria: frozenset[bytes]
    text: InterestText
    bloom: ExportedBloom


class ChannelInterest:
    """Guarded by the lock of `Interests`; only the building of a base has a thread of its own."""

    def __init__(self, channel: ChannelName, longest: int) -> None:
        self.channel = channel
        self.criteria: Counter[bytes] = Counter()
        self._longest = longest - _BETWEEN
        self._base: _Base | None = None
        self._made: _Base | None = None
        self._making: threading.Thread | None = None
        self._process: BuildProcess | None = None
        self._rest_until = 0.0
        self._added: set[bytes] = set()
        self._removed: set[bytes] = set()
        self._joined: _Joined | None = None

    def add(self, criterion: bytes) -> None:
        """Add the criterion of a subscription."""
        self.criteria[criterion] += 1
        if self.criteria[criterion] == 1:
            self._note(criterion, self._added, self._removed)

    def remove(self, criterion: bytes) -> None:
        """Remove the criterion of a subscription."""
        self.criteria[criterion] -= 1
        if not self.criteria[criterion]:
            del self.criteria[criterion]
            self._note(criterion, self._removed, self._added)

    def joined(self) -> _Joined:
        """Return the union of the current criteria."""
        if self._made is not None:
            self._stand_on(self._made)
            self._made = None
        if self._joined is None:
            self._joined = self._join()
        if self._joined.is_stale and self._making is None and time.monotonic() >= self._rest_until:
            self._make_base()
        return self._joined

    def close(self) -> None:
        """Stop a build under way."""
        making, process = self._making, self._process
        if making is not None and process is not None:
            process.end()
            making.join()

    def _note(self, criterion: bytes, on: set[bytes], off: set[bytes]) -> None:
        """Record the difference from the base; adding and removing the same criterion cancel out."""
        if criterion in off:
            off.discard(criterion)
        else:
            on.add(criterion)
        self._joined = None

    def _stand_on(self, base: _Base | None) -> None:
        self._base = base
        known = frozenset() if base is None else base.criteria
        self._added, self._removed = self.criteria.keys() - known, set(known - self.criteria.keys())
        self._joined = None

    def _join(self) -> _Joined:
        if self._base is not None and len(self.criteria) <= FEW:
            self._stand_on(None)
        base, added, has_removed = self._base, sorted(self._added), bool(self._removed)
        is_too_much = len(added) > (MANY if base is not None else FEW)
        is_stale = is_too_much or has_removed or (base is not None and len(added) > FEW)
        if is_too_much:
            return _Joined(self.channel, _OPEN, _EVERYTHING, None, is_stale)
        text = write_text(self._task(added, 1.0 if base is None else 1.0 - _BASE_SHARE))
        if base is not None:
            text = _either(base.text, text, exact=not has_removed)
        return _Joined(self.channel, text, tuple(added), base, is_stale)

    def _task(self, criteria: list[bytes], share: float) -> BuildTask:
        return BuildTask(self.channel, criteria, self._longest, share)

    def _make_base(self) -> None:
        task = self._task(sorted(self.criteria), _BASE_SHARE)
        self._making = threading.Thread(target=self._make, args=[task], name="headrace-interest", daemon=True)
        self._making.start()

    def _make(self, task: BuildTask) -> None:
        began = time.monotonic()
        try:
            self._process = BuildProcess(task)
            built = self._process.wait()
            self._made = _Base(frozenset(task.criteria), built.text, ExportedBloom.from_bytes(built.bloom))
            self._rest_until = time.monotonic() + _REST * (time.monotonic() - began)
        except (OSError, subprocess.SubprocessError, msgspec.DecodeError, UnreadableExport) as error:
            _log.warning("the interest of channel %s includes every event for now: %s", task.channel, error)
            self._rest_until = time.monotonic() + _AFTER_FAILURE
        finally:
            self._making = None


@dataclass(frozen=True)
class _Joined:
    channel: ChannelName
    text: InterestText
    added: tuple[bytes, ...]
    base: _Base | None
    is_stale: bool

    @cached_property
    def bloom(self) -> ExportedBloom:
        """The Bloom filter, built on first use."""
        if self.base is None:
            return write_bloom(self.channel, self.added)
        return self.base.bloom.joined(write_bloom(self.channel, self.added, self.base.bloom.header))


def _either(base: InterestText, added: InterestText, *, exact: bool) -> InterestText:
    expressions = tuple(compile_filter({"cel": each.cel}).expression for each in (base, added))
    return InterestText(write_cel(fold(flatten(any_of(expressions)))), base.exact and added.exact and exact)

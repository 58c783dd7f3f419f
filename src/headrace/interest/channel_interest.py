"""The wants of one channel, and what they come to together.

Few wants are joined anew when they change. Of many there is a base, made in a process of its own, and beside it what
was added since; what was removed since is still in the base, and then the whole isn't exact. While there is no base
yet, or too much was added, everything is let through.
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
from headrace.interest.union import Apart, Task, Text, write_bloom, write_text

if TYPE_CHECKING:
    from headrace.subscriptions.channels.name import ChannelName

_log = logging.getLogger(__name__)

FEW = 500
"""So many wants are joined at once, in tenths of a second."""

MANY = 2000
"""More than this many beside a base are not joined with it any more: a new base comes."""

_BASE_SHARE = 0.75
_REST = 20
"""A new base is made after so many times the seconds that the last one took, so that it takes a twentieth of a core."""

_BETWEEN = len("() || ()")
_AFTER_FAILURE = 60.0
_OPEN = Text("true", exact=False)
_EVERYTHING = (b"[null,[],[]]",)


@dataclass(frozen=True)
class _Base:
    wants: frozenset[bytes]
    text: Text
    bloom: ExportedBloom


class ChannelInterest:
    """Belongs to whoever holds the lock of `Interests`; only the making of a base has a thread of its own."""

    def __init__(self, channel: ChannelName, longest: int) -> None:
        self.channel = channel
        self.wants: Counter[bytes] = Counter()
        self._longest = longest - _BETWEEN
        self._base: _Base | None = None
        self._made: _Base | None = None
        self._making: threading.Thread | None = None
        self._apart: Apart | None = None
        self._rest_until = 0.0
        self._added: set[bytes] = set()
        self._removed: set[bytes] = set()
        self._joined: _Joined | None = None

    def add(self, want: bytes) -> None:
        """Count somebody who wants this."""
        self.wants[want] += 1
        if self.wants[want] == 1:
            self._note(want, self._added, self._removed)

    def remove(self, want: bytes) -> None:
        """Count somebody no more."""
        self.wants[want] -= 1
        if not self.wants[want]:
            del self.wants[want]
            self._note(want, self._removed, self._added)

    def joined(self) -> _Joined:
        """Return all wants together, as they are now."""
        if self._made is not None:
            self._stand_on(self._made)
            self._made = None
        if self._joined is None:
            self._joined = self._join()
        if self._joined.is_stale and self._making is None and time.monotonic() >= self._rest_until:
            self._make_base()
        return self._joined

    def close(self) -> None:
        """End what is being made."""
        making, apart = self._making, self._apart
        if making is not None and apart is not None:
            apart.end()
            making.join()

    def _note(self, want: bytes, on: set[bytes], off: set[bytes]) -> None:
        """Keep what differs from the base: whatever comes back, or goes again, differs no more."""
        if want in off:
            off.discard(want)
        else:
            on.add(want)
        self._joined = None

    def _stand_on(self, base: _Base | None) -> None:
        self._base = base
        known = frozenset() if base is None else base.wants
        self._added, self._removed = self.wants.keys() - known, set(known - self.wants.keys())
        self._joined = None

    def _join(self) -> _Joined:
        if self._base is not None and len(self.wants) <= FEW:
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

    def _task(self, wants: list[bytes], share: float) -> Task:
        return Task(self.channel, wants, self._longest, share)

    def _make_base(self) -> None:
        task = self._task(sorted(self.wants), _BASE_SHARE)
        self._making = threading.Thread(target=self._make, args=[task], name="headrace-interest", daemon=True)
        self._making.start()

    def _make(self, task: Task) -> None:
        began = time.monotonic()
        try:
            self._apart = Apart(task)
            built = self._apart.wait()
            self._made = _Base(frozenset(task.wants), built.text, ExportedBloom.from_bytes(built.bloom))
            self._rest_until = time.monotonic() + _REST * (time.monotonic() - began)
        except (OSError, subprocess.SubprocessError, msgspec.DecodeError, UnreadableExport) as error:
            _log.warning(
                "the interest of channel %s lets everything through for now: %s", task.channel, error
            )
            self._rest_until = time.monotonic() + _AFTER_FAILURE
        finally:
            self._making = None


@dataclass(frozen=True)
class _Joined:
    channel: ChannelName
    text: Text
    beside: tuple[bytes, ...]
    base: _Base | None
    is_stale: bool

    @cached_property
    def bloom(self) -> ExportedBloom:
        """The Bloom filter, made when it is first asked for."""
        if self.base is None:
            return write_bloom(self.channel, self.beside)
        return self.base.bloom.joined(write_bloom(self.channel, self.beside, self.base.bloom.header))


def _either(base: Text, beside: Text, *, exact: bool) -> Text:
    expressions = tuple(compile_filter({"cel": each.cel}).expression for each in (base, beside))
    return Text(write_cel(fold(flatten(any_of(expressions)))), base.exact and beside.exact and exact)

"""Filters that were compiled already: who follows the subscriptions compiles only those that changed."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.filters.compiled import read_compiled
from headrace.matching.settings import CelSettings
from headrace.telemetry.metrics import MATCH_PROGRAM_HITS, MATCH_PROGRAM_MISSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.filters import Filter

_encode = msgspec.json.Encoder().encode


class Programs:
    """At most `size` filters by what they are written as; the one asked for longest ago goes first.

    Belongs to one thread at a time.
    """

    def __init__(self, size: int = CelSettings().cache_size) -> None:
        self.size = size
        self.hits = 0
        self.misses = 0
        self._filters: OrderedDict[bytes, Filter] = OrderedDict()
        self._published = (0, 0)

    def __len__(self) -> int:
        return len(self._filters)

    def compile(self, filters: Sequence[Any], kept: bytes | None = None) -> Filter:
        """Return what `compile_filter` returns, from the compiled form that was kept if there is one.

        What it refuses is refused each time.
        """
        key = _encode(filters)
        known = self._filters.get(key)
        if known is None:
            self.misses += 1
            known = self._filters[key] = read_compiled(filters, kept)
        else:
            self.hits += 1
            self._filters.move_to_end(key)
        self._shrink()
        return known

    def publish(self) -> None:
        """Move what was counted since the last call to the metrics."""
        hits, misses = self._published
        MATCH_PROGRAM_HITS.inc(self.hits - hits)
        MATCH_PROGRAM_MISSES.inc(self.misses - misses)
        self._published = self.hits, self.misses

    def _shrink(self) -> None:
        while len(self._filters) > self.size:
            self._filters.popitem(last=False)

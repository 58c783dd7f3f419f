"""Scans of a history in order of position, window by window, so that a query can stop early and report its progress.

A window is a range of positions of one partition with about as many events as asked for. Files are sorted by position
and have a page index, so that part of one is read without the rest.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from headrace.eventlog.archive.manifest import ArchivedFile
from headrace.events.positions import partition_of
from headrace.pipeline.history.selection import overlap

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.filters import Filter
    from headrace.pipeline.history.history import History, HistoryPart
    from headrace.pipeline.history.selection import HistorySelection, Span

Progress: TypeAlias = "Callable[[float], None]"
"""Is told the share that is done, from 0 to 1, now and then."""
_ANYWHERE = (0, 1 << 63)


def no_progress(_share: float) -> None:
    """Tell nobody."""


class PartitionScan:
    """The way through one partition of an extent. How many events stand where is estimated from the files' spans."""

    def __init__(self, extent: HistorySelection, spans: list[tuple[Span, float]]) -> None:
        first, behind = extent.positions or _ANYWHERE
        steps: dict[int, float] = defaultdict(float)
        for (start, end), rows in spans:
            density = rows / (end - start)
            steps[min(max(start, first), behind)] += density
            steps[max(min(end, behind), first)] -= density
        cuts = sorted(steps)
        lengths = np.diff(cuts)
        densities = np.cumsum([steps[cut] for cut in cuts])[:-1]
        self._extent = extent
        self.start, self.end = cuts[0], cuts[-1]
        self._cuts = np.array([cut - self.start for cut in cuts], np.float64)
        self._passed = np.concatenate([np.zeros(1), np.cumsum(densities * lengths)])

    @property
    def total(self) -> float:
        """About how many events there are."""
        return float(self._passed[-1])

    def done(self, position: int) -> float:
        """Return about how many events stand before a position."""
        return float(np.interp(position - self.start, self._cuts, self._passed))

    def behind(self, position: int, rows: float) -> int:
        """Return the end of a window that begins at a position and has about so many events."""
        wanted = self.done(position) + rows
        if wanted >= self.total:
            return max(self.end, position + 1)
        return max(self.start + int(np.interp(wanted, self._passed, self._cuts)), position + 1)

    def window(self, start: int, end: int) -> HistorySelection:
        """Return the part of the extent between two positions."""
        return replace(self._extent, positions=(start, end))


def partition_scans(
    history: History, extent: HistorySelection, filter_: Filter | None = None
) -> list[PartitionScan]:
    """Return the way through each partition that the extent may have events in, or matches of a filter."""
    partitions: dict[int, list[tuple[Span, float]]] = defaultdict(list)
    for part in history.parts(extent, filter_):
        spans = _spans(part)
        for partition, span in spans.items():
            if extent.positions is None or overlap(extent.positions, span):
                partitions[partition].append((span, part.rows / len(spans)))
    return [PartitionScan(extent, spans) for _, spans in sorted(partitions.items())]


def _spans(part: HistoryPart) -> dict[int, Span]:
    return part.spans if isinstance(part, ArchivedFile) else {partition_of(part.positions[0]): part.positions}

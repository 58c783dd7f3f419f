"""Where in the history a point stands."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.events.positions import LogPosition, partition_of
from headrace.filters import compile_filter
from headrace.matching.scope import Scope
from headrace.pipeline.history.seek import first_match
from headrace.pipeline.history.selection import HistorySelection
from headrace.subscriptions.points import EARLIEST, LATEST, Point

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.pipeline.history.history import History
    from headrace.subscriptions.channels.name import ChannelName

_FOREVER = 1 << 60
_FOREVER_MILLIS = 1 << 50


def locate(
    history: History, channel: ChannelName, point: Point, tell: Callable[[float], None] = lambda _: None
) -> LogPosition | None:
    """Return the cut before the first event of the channel that meets the point's conditions; None if none does.

    In a log of several partitions it is the first one of each partition, and the end of a partition that has none.
    """
    if point.edge == EARLIEST:
        return LogPosition()
    if point.edge == LATEST:
        return history.end
    begin = LogPosition(point.position)
    ranges = list(begin.ranges_to(history.end))
    if not point.needs_search:
        return begin if ranges else None
    filter_ = compile_filter(point.filter)
    found: list[int] = []
    for number, span in enumerate(ranges):
        extent = HistorySelection(
            Scope(*channel),
            positions=span,
            published=None if point.time is None else (point.time * 1000, _FOREVER),
            happened=None if point.event_time is None else (point.event_time, _FOREVER_MILLIS),
        )
        found += first_match(history, extent, filter_, partial(_tell_of_partition, tell, number, len(ranges)))
    if not found:
        return None
    return LogPosition({**history.end, **{partition_of(position): position for position in found}})


def _tell_of_partition(
    tell: Callable[[float], None], partitions_before: int, partitions: int, part: float
) -> None:
    tell((partitions_before + part) / partitions)


def point_at(cut: LogPosition) -> Point:
    """Return the point that stands at a cut."""
    return Point(position=dict(cut)) if cut else Point(edge=EARLIEST)


def shown(cut: LogPosition) -> Any:
    """Show a cut as the API does, and takes it: a position, or one per partition where there are several."""
    return {str(partition): position for partition, position in cut.items()} if cut.keys() - {0} else cut[0]

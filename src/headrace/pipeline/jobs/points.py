"""Where in the history a point stands."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.events.positions import Cut, lane_of
from headrace.filters import compile_filter
from headrace.matching.scope import Scope
from headrace.pipeline.history.extent import Extent
from headrace.pipeline.history.seek import first_match
from headrace.subscriptions.points import EARLIEST, LATEST, Point

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.pipeline.history.history import History
    from headrace.subscriptions.channels.name import ChannelName

_FOREVER = 1 << 60
_FOREVER_MILLIS = 1 << 50


def locate(
    history: History, channel: ChannelName, point: Point, tell: Callable[[float], None] = lambda _: None
) -> Cut | None:
    """Return the cut before the first event of the channel that meets the point's conditions; None if none does.

    In a log of several lanes it is the first one of each lane, and the end of a lane that has none.
    """
    if point.edge == EARLIEST:
        return Cut()
    if point.edge == LATEST:
        return history.end
    begin = Cut(point.position)
    ranges = list(begin.ranges_to(history.end))
    if not point.needs_search:
        return begin if ranges else None
    filter_ = compile_filter(point.filter)
    found: list[int] = []
    for number, span in enumerate(ranges):
        extent = Extent(
            Scope(*channel),
            positions=span,
            published=None if point.time is None else (point.time * 1000, _FOREVER),
            happened=None if point.event_time is None else (point.event_time, _FOREVER_MILLIS),
        )
        found += first_match(history, extent, filter_, partial(_tell_of_lane, tell, number, len(ranges)))
    if not found:
        return None
    return Cut({**history.end, **{lane_of(position): position for position in found}})


def _tell_of_lane(tell: Callable[[float], None], lanes_before: int, lanes: int, part: float) -> None:
    tell((lanes_before + part) / lanes)


def point_at(cut: Cut) -> Point:
    """Return the point that stands at a cut."""
    return Point(position=dict(cut)) if cut else Point(edge=EARLIEST)


def shown(cut: Cut) -> Any:
    """Show a cut as the API does, and takes it: a position, or one per lane where there are several."""
    return {str(lane): position for lane, position in cut.items()} if cut.keys() - {0} else cut[0]

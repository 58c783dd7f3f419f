"""The offsets of the stream: a cut of the log, and a count of ticks, which are batches without events."""

from __future__ import annotations

from typing import Any

from headrace.events.positions import LogPosition

# Batches without events after a start: they bring up the Python workers before anything depends on them.
WARM_UP_TICKS = 3

Offset = dict[str, Any]


def offset_at(cut: LogPosition, tick: int) -> Offset:
    """Return the offset at a cut, after so many ticks."""
    return {"cut": cut.to_json(), "tick": tick}


def cut_of(offset: Offset) -> LogPosition:
    """Return the cut that an offset stands for."""
    return LogPosition.from_json(offset["cut"])

"""The log as a Spark worker has it open: workers outlive a query, and so do its connections."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from headrace.eventlog.location import open_log

if TYPE_CHECKING:
    from headrace.eventlog.log import LogReader


@lru_cache(maxsize=1)
def opened_log(place: str) -> LogReader:
    """Return the log at a place, opened once. For workers alone, each of which is one thread."""
    return open_log(place)

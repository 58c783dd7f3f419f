"""Points in a channel's history, as users name them: where to start, where to seek to, what to replay.

A point is "earliest", "latest", or an object of conditions. It stands at the first event that meets all of them:

| member | the event |
|---|---|
| `position` | is at this position or behind it; in a log of several partitions, an object of a position per partition |
| `time` | was accepted at this time or later: RFC 3339, or milliseconds since the epoch |
| `eventTime` | happened at this time or later, by its own `time` |
| `filter` | matches this filter, of any dialect |
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.documents.filter_schemas import FILTER_OR_FILTERS
from headrace.documents.schemas import Named, nullable, record
from headrace.documents.whole_numbers import whole_number
from headrace.errors import FilterError
from headrace.filters import compile_filter
from headrace.filters.values.faults import Fault
from headrace.filters.values.times import read_timestamp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.documents.faults import Faults

EARLIEST, LATEST = "earliest", "latest"
_PARTITION = re.compile("0|[1-9][0-9]{0,8}")
_POSITIONS = range(2**63)
# The years 1 to 9999, which RFC 3339 can write, in milliseconds.
TIMES = range(-62_135_596_800_000, 253_402_300_800_000)
TIME = Named(
    "Time",
    {
        "description": "RFC 3339, or milliseconds since the epoch.",
        "anyOf": [
            {"type": "string", "format": "date-time"},
            {"type": "integer", "minimum": TIMES.start, "maximum": TIMES.stop - 1},
        ],
        "examples": ["2026-01-31T12:00:00Z"],
    },
)
POSITION = Named(
    "Position",
    {
        "type": "integer",
        "description": "A position of the log.",
        "minimum": 0,
        "maximum": _POSITIONS.stop - 1,
    },
)
_POSITION_BY_PARTITION = {
    "type": "object",
    "minProperties": 1,
    "propertyNames": {"pattern": f"^({_PARTITION.pattern})$"},
    "additionalProperties": POSITION,
}
_CONDITIONS = {
    "position": {
        "description": "At this position or behind it; in a log of several partitions, a position per partition.",
        "anyOf": [POSITION, _POSITION_BY_PARTITION],
    },
    "time": {"description": "Accepted at this time or later.", **nullable(TIME)},
    "eventTime": {"description": "Happened at this time or later, by its own `time`.", **nullable(TIME)},
    "filter": FILTER_OR_FILTERS,
}
POINT = Named(
    "Point",
    {
        "description": "A point of the history, just before the first event that meets all of the conditions.",
        "anyOf": [{"enum": [EARLIEST, LATEST]}, record(_CONDITIONS, minProperties=1)],
        "examples": [
            {"time": "2026-01-31T12:00:00Z", "filter": {"exact": {"type": "com.example.order.created"}}}
        ],
    },
)


@dataclass(frozen=True, slots=True)
class Point:
    """Conditions on the first event behind the point; times are milliseconds, positions are by partition."""

    edge: str | None = None
    position: Mapping[int, int] = field(default_factory=dict)
    time: int | None = None
    event_time: int | None = None
    filter: Any = None

    @property
    def needs_search(self) -> bool:
        """Whether events have to be looked at to find it."""
        return self.time is not None or self.event_time is not None or self.filter is not None

    def document(self) -> Any:
        """Return the point as it was written, in one of its forms."""
        if self.edge is not None:
            return self.edge
        members = {
            "position": {str(partition): position for partition, position in self.position.items()} or None,
            "time": self.time,
            "eventTime": self.event_time,
            "filter": self.filter,
        }
        return {name: value for name, value in members.items() if value is not None}


def parse_point(value: object, path: str, faults: Faults) -> Point:
    """Read a point; what is wrong with it is added to the faults."""
    if isinstance(value, str) and value in (EARLIEST, LATEST):
        return Point(edge=value)
    if not isinstance(value, dict) or not value:
        problem = (
            f"has to be {EARLIEST!r}, {LATEST!r} or an object with one or more of: {', '.join(_CONDITIONS)}"
        )
        faults.append((path, problem))
        return Point(edge=LATEST)
    faults += [
        (f"{path}.{key}", f"unknown member; a point has: {', '.join(_CONDITIONS)}")
        for key in value
        if key not in _CONDITIONS
    ]
    if "filter" in value:
        check_filter(value["filter"], f"{path}.filter", faults)
    return Point(
        position=_positions(value["position"], f"{path}.position", faults) if "position" in value else {},
        time=parse_time(value.get("time"), f"{path}.time", faults),
        event_time=parse_time(value.get("eventTime"), f"{path}.eventTime", faults),
        filter=value.get("filter"),
    )


def parse_time(value: object, path: str, faults: Faults) -> int | None:
    """Read a time as milliseconds since the epoch; nothing stays nothing."""
    number = whole_number(value)
    if value is None or (number is not None and number in TIMES):
        return number
    if isinstance(value, str):
        try:
            return read_timestamp(value).nanoseconds // 10**6
        except Fault:
            pass
    faults.append(
        (path, f"{value!r} is no time; write 2026-01-31T12:00:00Z, or milliseconds since the epoch")
    )
    return None


def check_filter(value: Any, path: str, faults: Faults) -> None:
    """Say what is wrong with a filter, or a list of them, at its place."""
    try:
        compile_filter(value)
    except FilterError as error:
        inner = error.path.removeprefix("filters" if isinstance(value, list) else "filter")
        faults.append((path + inner, error.detail))


def _positions(value: Any, path: str, faults: Faults) -> dict[int, int]:
    given = value if isinstance(value, dict) else {"0": value}
    by_partition = {
        int(partition): position
        for partition, each in given.items()
        if _PARTITION.fullmatch(partition)
        and (position := whole_number(each)) is not None
        and position in _POSITIONS
    }
    if by_partition and len(by_partition) == len(given):
        return by_partition
    faults.append(
        (path, f'{value!r} is no position: an integer of at least 0, or one per partition: {{"0": 17}}')
    )
    return {}

"""Times as results show them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def written_time(micros: int) -> str:
    """Write microseconds since the epoch as RFC 3339 with milliseconds."""
    moment = _EPOCH + timedelta(microseconds=micros)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

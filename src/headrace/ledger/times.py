"""Times as the ledger keeps them, seconds since the epoch, and as people and programs read them."""

from __future__ import annotations

from datetime import UTC, datetime


def shown_time(seconds: float) -> str:
    """Return a time as RFC 3339 in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

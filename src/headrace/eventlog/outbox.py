"""The outbox: planned deliveries, covering the log without gaps and without overlaps.

Idempotence comes from log positions alone: writing a range that is covered changes nothing.
A planned delivery is a row of `headrace.matching.PAIRS`: an event and a subscription.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from headrace.events.positions import LogPosition


class OutboxWriter(Protocol):
    """Written by the pipeline alone."""

    def covered(self) -> LogPosition:
        """Return the log position before which all deliveries are planned: where routing resumes."""
        ...

    def write(self, start: LogPosition, end: LogPosition, pairs: pa.Table) -> int:
        """Plan the deliveries of the events from `start` to `end`, durably, and return how many were new.

        What is covered already is left alone; a range that begins behind `covered()` raises OutboxGap.
        """
        ...

    def refresh(self) -> str | None:
        """Find out again what is covered; return what prevents writing for now, if anything does."""
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...


class OutboxReader(Protocol):
    """Drained by the dispatcher, which keeps its own cursor."""

    @property
    def is_blocked(self) -> bool:
        """Whether what `read` should yield next is missing at the moment, and will be written again."""
        ...

    def covered(self) -> LogPosition:
        """Return the log position before which all deliveries are planned."""
        ...

    def read(self, start: LogPosition) -> Iterator[tuple[LogPosition, pa.Table]]:
        """Yield (end, pairs) for what is planned behind `start`, in each partition in order of position.

        All pairs of positions before `end` have been yielded when the tuple has been.
        """
        ...

    def size(self, start: LogPosition) -> int:
        """Return how many bytes are planned behind `start`."""
        ...

    def drop(self, before: LogPosition) -> int:
        """Remove pairs of positions before `before`; return how many bytes that freed."""
        ...

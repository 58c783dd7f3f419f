"""What an outbox is: planned deliveries, covering the log without gaps and without overlaps.

Idempotence comes from log positions alone: a range that is covered stays as it is, whoever writes it again.
A planned delivery is a row of `headrace.matching.PAIRS`: this event, to this subscription.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa


class OutboxWriter(Protocol):
    """Written by the pipeline alone."""

    def covered(self) -> int:
        """Return the first position whose deliveries are not planned yet: where routing resumes."""
        ...

    def write(self, start: int, end: int, pairs: pa.Table) -> int:
        """Plan the deliveries of positions [start, end), durably, and return how many were new.

        What is covered already is left alone; a range that begins behind `covered()` raises OutboxGap.
        """
        ...


class OutboxReader(Protocol):
    """Drained by the dispatcher, which keeps its own cursor."""

    def covered(self) -> int:
        """Return the first position whose deliveries are not planned yet."""
        ...

    def read(self, start: int) -> Iterator[tuple[int, pa.Table]]:
        """Yield (end, pairs) for what is planned from position `start` on, in order of position.

        All pairs of positions below `end` have been yielded when the tuple has been.
        """
        ...

    def size(self, start: int) -> int:
        """Return how many bytes are planned from position `start` on."""
        ...

    def drop(self, before: int) -> int:
        """Forget pairs of positions below `before`; return how many bytes that freed."""
        ...

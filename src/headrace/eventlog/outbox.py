"""What an outbox is: planned deliveries, covering the log without gaps and without overlaps.

Idempotence comes from log positions alone: a range that is covered stays as it is, whoever writes it again.
A planned delivery is a row of `headrace.matching.PAIRS`: this event, to this subscription.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from headrace.events.positions import Cut


class OutboxWriter(Protocol):
    """Written by the pipeline alone."""

    def covered(self) -> Cut:
        """Return the cut before which all deliveries are planned: where routing resumes."""
        ...

    def write(self, start: Cut, end: Cut, pairs: pa.Table) -> int:
        """Plan the deliveries of what lies between the cuts, durably, and return how many were new.

        What is covered already is left alone; a range that begins behind `covered()` raises OutboxGap.
        """
        ...

    def look_again(self) -> str | None:
        """Find out anew what is covered; say what keeps it from being written for now, if anything does."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class OutboxReader(Protocol):
    """Drained by the dispatcher, which keeps its own cursor."""

    @property
    def is_held(self) -> bool:
        """Whether what `read` should yield next is missing at the moment, and will come."""
        ...

    def covered(self) -> Cut:
        """Return the cut before which all deliveries are planned."""
        ...

    def read(self, start: Cut) -> Iterator[tuple[Cut, pa.Table]]:
        """Yield (end, pairs) for what is planned behind `start`, in each lane in order of position.

        All pairs of positions before `end` have been yielded when the tuple has been.
        """
        ...

    def size(self, start: Cut) -> int:
        """Return how many bytes are planned behind the cut."""
        ...

    def drop(self, before: Cut) -> int:
        """Forget pairs of positions before the cut; return how many bytes that freed."""
        ...

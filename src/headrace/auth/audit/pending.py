"""Entries of a change before it is known what comes of it: they are kept with the change, and completed afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.auth.audit import entries as audit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from headrace.auth.audit.entries import Entry


class Draft:
    """For one change. `entries` tells what is known of it at the moment; `numbers` are those of the rows, once written.

    A row that stays as it was drafted has no outcome: the service stopped before it answered.
    """

    def __init__(self, entries: Callable[[], Sequence[Entry]]) -> None:
        self._entries = entries
        self.numbers: Sequence[int] = ()

    @property
    def is_written(self) -> bool:
        """Whether there are rows, unless their transaction failed after all."""
        return bool(self.numbers)

    def write(self, connection: Connection) -> None:
        """Write the entries, in the transaction of the connection."""
        self.numbers = audit.write(connection, self._entries())

    def completed(self, entries: Sequence[Entry]) -> list[tuple[int | None, Entry]]:
        """Return what the rows are to become, each with the number of the row whose place it takes, if any."""
        known: list[int | None] = [*self.numbers, *[None] * len(entries)]
        return list(zip(known, entries, strict=False))

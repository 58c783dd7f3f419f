"""What the ledger held at the start: it is not to be begun a second time when the outbox is read again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.events.positions import LogPosition, partition_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.delivery.ledger_thread import LedgerThread


class KeptAtStart:
    """For one event loop. Pairs of a subscription and a position."""

    def __init__(self, ledger: LedgerThread) -> None:
        self._ledger = ledger.ledger
        self._in_thread = ledger.run
        self._before = self._ledger.last_kept()
        self._within = (-1, -1)
        self._kept: set[tuple[str, int]] = set()

    def is_passed(self, position: LogPosition) -> bool:
        """Tell whether nothing from here on can be in the ledger, or come before what is there."""
        return self._before <= position

    def forget(self) -> None:
        """Look no more: the reading is past all of it."""
        self._before = LogPosition()

    async def of(self, positions: Sequence[int]) -> set[tuple[str, int]]:
        """Return what the ledger held of these."""
        if not self._before or not any(map(self._before.is_behind, positions)):
            return set()
        within = min(positions), max(positions)
        if partition_of(within[0]) == partition_of(within[1]):
            return await self._look_up(within)
        kept: set[tuple[str, int]] = set()
        for partition in {partition_of(each) for each in positions}:
            own = [each for each in positions if partition_of(each) == partition]
            kept |= await self._look_up((min(own), max(own)))
        return kept

    async def _look_up(self, within: tuple[int, int]) -> set[tuple[str, int]]:
        if within != self._within:  # one event for very many subscriptions is several slices
            self._kept = await self._in_thread(self._ledger.kept, *within)
            self._within = within
        return self._kept

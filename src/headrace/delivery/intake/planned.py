"""A slice of the outbox by subscription, in columns."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    import numpy.typing as npt

    from headrace.events.positions import LogPosition

_MOST_PARTS = 20


def gathered(
    read: Iterable[tuple[LogPosition, pa.Table]], enough: int
) -> Iterator[tuple[LogPosition, pa.Table]]:
    """Put parts of the outbox together until they are enough: each plan has its price, and who is behind catches up."""
    parts: list[pa.Table] = []
    for end, pairs in read:
        parts.append(pairs)
        if len(parts) == _MOST_PARTS or sum(each.num_rows for each in parts) >= enough:
            yield end, pa.concat_tables(parts)
            parts = []
    if parts:
        yield end, pa.concat_tables(parts)


class Planned:
    """Pairs of event and subscription in their order. Subscriptions are numbered as they come, from 0."""

    def __init__(self, pairs: pa.Table) -> None:
        # As plain text first: a dictionary that comes with the pairs has names of which there is no pair here.
        encoded = pairs["subscription"].cast(pa.string()).combine_chunks().dictionary_encode()
        self._table = pairs
        self._numbers: npt.NDArray[np.int32] = encoded.indices.to_numpy()
        self.positions: npt.NDArray[np.int64] = pairs["position"].to_numpy()
        self.subscriptions: list[str] = encoded.dictionary.to_pylist()

    def positions_of(self, number: int) -> npt.NDArray[np.int64]:
        """Return the positions that are planned for one subscription, in their order."""
        order, ends = self._by_subscription
        return self.positions[order[ends[number] : ends[number + 1]]]

    def pairs(self, leaving: Collection[int]) -> list[tuple[int, str]]:
        """Return positions with their subscriptions, without the subscriptions of these numbers."""
        left = ~np.isin(self._numbers, list(leaving)) if leaving else slice(None)
        positions, numbers = self.positions[left].tolist(), self._numbers[left].tolist()
        return [
            (position, self.subscriptions[number])
            for position, number in zip(positions, numbers, strict=True)
        ]

    def without(self, known: Collection[tuple[str, int]]) -> Planned:
        """Return the same without these pairs of subscription and position."""
        names = self.subscriptions
        new = [
            (names[number], position) not in known
            for number, position in zip(self._numbers.tolist(), self.positions.tolist(), strict=True)
        ]
        return Planned(self._table.filter(pa.array(new, pa.bool_())))

    @cached_property
    def _by_subscription(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """An order in which each subscription's pairs are together, and where each one's begin."""
        counts = np.bincount(self._numbers, minlength=len(self.subscriptions))
        return np.argsort(self._numbers, kind="stable"), np.concatenate(([0], np.cumsum(counts)))

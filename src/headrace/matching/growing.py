"""Arrays that grow at their end while others read what is there already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

_FEW = 16


class Growing:
    """One writer appends, anyone reads: a view once taken stays right, and never sees more than it had."""

    __slots__ = ("_array", "_size")

    def __init__(self, kind: Any, values: Iterable[Any] = ()) -> None:
        first = np.array(list(values), kind)
        self._array = np.empty(max(_FEW, len(first)), kind)
        self._array[: len(first)] = first
        self._size = len(first)

    @classmethod
    def of(cls, values: npt.NDArray[Any]) -> Growing:
        """Begin with a copy of these values."""
        growing = cls(values.dtype)
        growing.extend(values)
        return growing

    def __len__(self) -> int:
        return self._size

    def append(self, value: Any) -> None:
        """Add one value."""
        if self._size == len(self._array):
            self._make_room(1)
        self._array[self._size] = value
        self._size += 1

    def extend(self, values: Any) -> None:
        """Add values: an array, a list or bytes."""
        count = len(values)
        if self._size + count > len(self._array):
            self._make_room(count)
        self._array[self._size : self._size + count] = values
        self._size += count

    def view(self) -> npt.NDArray[Any]:
        """Return what is there now."""
        return self._array[: self._size]

    def _make_room(self, count: int) -> None:
        wider = np.empty(max(2 * len(self._array), self._size + count), self._array.dtype)
        wider[: self._size] = self._array[: self._size]
        self._array = wider

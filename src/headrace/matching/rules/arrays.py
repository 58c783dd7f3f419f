"""Arrays that grow at their end while others read what is there already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

_FEW = 16


class Growing:
    """One writer appends and flushes, anyone views: a view once taken stays right, and never sees more than it had.

    What was appended is counted at once, and can be viewed after a flush: many are cheaper to store than one.
    """

    __slots__ = ("_array", "_size", "_waiting", "append", "extend")

    append: Callable[[Any], None]
    """Add one value."""

    extend: Callable[[Iterable[Any]], None]
    """Add values: a list, or bytes."""

    def __init__(self, kind: Any, values: Iterable[Any] = ()) -> None:
        self._array = np.empty(_FEW, kind)
        self._size = 0
        self._waiting: list[Any] = list(values)
        self.append, self.extend = self._waiting.append, self._waiting.extend
        self.flush()

    @classmethod
    def of(cls, values: npt.NDArray[Any]) -> Growing:
        """Begin with a copy of these values."""
        growing = cls(values.dtype)
        growing._store(values)
        return growing

    def __len__(self) -> int:
        return self._size + len(self._waiting)

    def flush(self) -> None:
        """Let views see what was added."""
        if self._waiting:
            self._store(np.array(self._waiting, self._array.dtype))
            self._waiting.clear()

    def view(self) -> npt.NDArray[Any]:
        """Return what was there at the last flush."""
        return self._array[: self._size]

    def _store(self, values: npt.NDArray[Any]) -> None:
        end = self._size + len(values)
        if end > len(self._array):
            wider = np.empty(max(2 * len(self._array), end), self._array.dtype)
            wider[: self._size] = self._array[: self._size]
            self._array = wider
        self._array[self._size : end] = values
        self._size = end

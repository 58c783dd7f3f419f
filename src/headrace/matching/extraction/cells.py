"""What stands at the fields that filters mention, event by event, in flat arrays that a kernel can read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# The kinds of a cell. They are plain integers: a kernel freezes them.
# NOWHERE: the map that would hold the last key isn't there or isn't a map; even presence is unknown.
# ABSENT: the map is there, the key isn't.
NOWHERE, ABSENT, NULL, FALSE, TRUE, INT, DOUBLE, STRING, LIST, MAP = range(10)

_FEW = 64


@dataclass(slots=True)
class Elements:
    """The elements of lists and the keys of maps, one after the other; those from `used` on mean nothing.

    `number`, `start` and `length` mean what they mean in `Cells`; lists and maps have a kind and no more.
    """

    kind: npt.NDArray[np.uint8]
    number: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    length: npt.NDArray[np.int32]
    used: int = 0

    @classmethod
    def empty(cls, capacity: int = _FEW) -> Elements:
        """Make room for some elements."""
        return cls(
            np.zeros(capacity, np.uint8),
            np.zeros(capacity, np.int64),
            np.zeros(capacity, np.int64),
            np.zeros(capacity, np.int32),
        )

    @property
    def capacity(self) -> int:
        """How many elements there is room for."""
        return len(self.kind)

    def grow(self) -> None:
        """Double the room. The arrays are new ones then."""
        wider = Elements.empty(max(2 * self.capacity, _FEW))
        for name in ("kind", "number", "start", "length"):
            getattr(wider, name)[: self.used] = getattr(self, name)[: self.used]
            setattr(self, name, getattr(wider, name))


@dataclass(slots=True)
class Cells:
    """What stands at each field of each row, plus elements of lists; arrays of shape (rows, fields), C order.

    `number` is the value of an INT and the bits of a DOUBLE. `start` and `length` are the bytes of a STRING in
    the text buffer; of a LIST or MAP whose elements are wanted they are its first element and their number.
    Whatever a kind doesn't speak of means nothing. Belongs to one thread while it is filled.
    """

    kind: npt.NDArray[np.uint8]
    number: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    length: npt.NDArray[np.int32]
    elements: Elements

    @classmethod
    def empty(cls, rows: int, fields: int) -> Cells:
        """Make cells that are all NOWHERE."""
        shape = (rows, fields)
        return cls(
            np.full(shape, NOWHERE, np.uint8),
            np.zeros(shape, np.int64),
            np.zeros(shape, np.int64),
            np.zeros(shape, np.int32),
            Elements.empty(),
        )

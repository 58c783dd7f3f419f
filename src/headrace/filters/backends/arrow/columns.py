"""The values at one path of all rows, one array per type, with null where a row has another type."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from headrace.filters.values.documents import as_double
from headrace.filters.values.kinds import INT64

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    Mask: TypeAlias = npt.NDArray[np.bool_]

ABSENT = object()
"""Marks a key that isn't in its map."""

NOWHERE = object()
"""Marks a key below something that isn't a map: even its presence is unknown."""


@dataclass(frozen=True, slots=True)
class PathColumn:
    """The values at a path. Each row is in at most one array, or in `others`; `absent` and `nulls` are masks.

    `others` holds by row the values that aren't Arrow scalars: lists and maps.
    """

    num_rows: int
    scalars: tuple[pa.Array, ...] = ()
    nulls: Mask | None = None
    others: Mapping[int, Any] = field(default_factory=dict)
    absent: Mask | None = None

    @property
    def present(self) -> Mask:
        """The rows that have the key, whatever its value."""
        mask = np.zeros(self.num_rows, np.bool_)
        for array in self.scalars:
            mask |= valid(array)
        if self.nulls is not None:
            mask |= self.nulls
        mask[list(self.others)] = True
        return mask


def valid(array: pa.Array) -> Mask:
    """Return a mask of the rows that aren't null."""
    if array.null_count == 0:
        return np.ones(len(array), np.bool_)
    mask: Mask = array.is_valid().to_numpy(zero_copy_only=False)
    return mask


def column_of_strings(array: pa.Array) -> PathColumn:
    """Wrap a column of strings, in which null means absent."""
    return PathColumn(len(array), (array,), absent=~valid(array))


def column_of(values: Sequence[Any]) -> PathColumn:
    """Group values by their types."""
    rows = len(values)
    by_type: dict[type, list[tuple[int, Any]]] = {}
    for row, value in enumerate(values):
        kind = type(value)
        if kind is int and value not in INT64:
            kind, value = float, as_double(value)  # noqa: PLW2901 -- as CEL reads such a number
        by_type.setdefault(kind, []).append((row, value))
    marks = by_type.pop(object, [])
    nulls = by_type.pop(type(None), [])
    scalars = tuple(
        _array(by_type.pop(kind), arrow_type, rows) for kind, arrow_type in _TYPES.items() if kind in by_type
    )
    absent = _mask([row for row, mark in marks if mark is ABSENT], rows)
    others = dict(pair for pairs in by_type.values() for pair in pairs)
    return PathColumn(rows, scalars, _mask([row for row, _ in nulls], rows), others, absent)


_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def _array(pairs: list[tuple[int, Any]], arrow_type: pa.DataType, rows: int) -> pa.Array:
    if len(pairs) == rows:
        return pa.array([value for _, value in pairs], arrow_type)
    spread: list[Any] = [None] * rows
    for row, value in pairs:
        spread[row] = value
    return pa.array(spread, arrow_type)


def _mask(rows: list[int], num_rows: int) -> Mask:
    mask = np.zeros(num_rows, np.bool_)
    mask[rows] = True
    return mask

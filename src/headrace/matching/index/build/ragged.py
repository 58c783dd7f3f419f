"""Rows of different lengths, kept in one array with the places where they end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

_CODES = 256

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[Any]


def indices(starts: Numbers, ends: Numbers) -> Numbers:
    """Return start, start + 1, ... end - 1 of every row, one row after the other."""
    lengths = ends - starts
    total = int(lengths.sum())
    if total == 0:
        return np.empty(0, np.int64)
    first = np.repeat(starts - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
    return first + np.arange(total)


def owners(lengths: Numbers) -> Numbers:
    """Return for every element the number of its row."""
    return np.repeat(np.arange(len(lengths)), lengths)


def ends_of(rows: Numbers, count: int, dtype: Any = np.int64) -> Numbers:
    """Return where each of `count` rows begins, and at last the end, of elements sorted by their row."""
    ends = np.zeros(count + 1, dtype)
    np.cumsum(np.bincount(rows, minlength=count), out=ends[1:])
    return ends


def picked(values: Numbers, numbers: Numbers, default: float) -> Numbers:
    """Return the values of these numbers, and the default where a number is negative."""
    result = np.full(len(numbers), default, values.dtype)
    some = numbers >= 0
    result[some] = values[numbers[some]]
    return result


def is_one_of(codes: Numbers, wanted: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Say which codes are wanted; far quicker than `isin`, whose codes may be anything."""
    table = np.zeros(_CODES, np.bool_)
    table[list(wanted)] = True
    return table[codes]

"""Values that are too long for some check, and whom these concern.

Of such a value the check is unknown, so nobody is found by it. A second walk, a lenient one, takes it for true: whom
that finds beside those who were found before may have been kept from matching by what it costs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.filters.values.budget import LONGEST_SCANNED, MOST_SEARCHED, SEARCHED
from headrace.matching.extraction.cells import LIST, STRING
from headrace.matching.index.build.ragged import indices, is_one_of
from headrace.matching.index.tables import ELEMENT_SPACE, GRAM_SPACE, SPACES
from headrace.matching.rules.checks import CONTAINS, CONTAINS_NOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from headrace.matching.extraction.extractor import Extract
    from headrace.matching.index.level import Legend
    from headrace.matching.index.tables import Tables

    Numbers = npt.NDArray[Any]

UNLIMITED = sys.maxsize
"""Where no check finds a value too long."""

_LOWER = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Limits:
    """What no check of a level finds too long: texts by slot, in bytes, and lists, in elements."""

    texts: Numbers
    elements: int

    @classmethod
    def of(cls, tables: Tables, legend: Legend) -> Limits:
        """Work out the limits of a level."""
        searched = is_one_of(tables.checks[:, 0], (CONTAINS, CONTAINS_NOT)).any() or tables.slot_grams.any()
        texts = np.full(len(legend.operands), LONGEST_SCANNED if searched else UNLIMITED, np.int64)
        for slot, pattern, _ in legend.patterns:
            texts[slot] = min(texts[slot], pattern.longest)
        if not tables.slot_elements.any():
            return cls(texts, UNLIMITED)
        sought = tables.keys[(tables.keys[:, 0] & _LOWER) % SPACES == ELEMENT_SPACE, 0] >> 32
        return cls(texts, MOST_SEARCHED // (SEARCHED + int(sought.max(initial=0))))

    def least(self, slots: slice) -> int:
        """Return the least length that is within all limits of these slots."""
        return min(int(self.texts[slots].min(initial=UNLIMITED)), self.elements)

    def rows_beyond(self, extract: Extract, slots: slice, columns: Numbers) -> Numbers:
        """Return the rows that have a value beyond the limits in one of the columns, which are those of the slots."""
        kind, length = extract.cells.kind[:, columns], extract.cells.length[:, columns]
        texts = (kind == STRING) & (length > self.texts[slots])
        return np.flatnonzero((texts | ((kind == LIST) & (length > self.elements))).any(axis=1))


def lists_beyond(
    tables: Tables, legend: Legend, extract: Extract, slots: slice, columns: Numbers
) -> Iterator[tuple[int, Numbers]]:
    """Yield rows with the lists of all checks that one of their values is too long for."""
    text, cells = extract.text, extract.cells
    lists = cache(partial(_lists_of_list, tables)), cache(partial(_lists_of_text, tables, legend))
    for slot, column in enumerate(columns.tolist(), slots.start):
        values = (each[:, column].tolist() for each in (cells.kind, cells.start, cells.length))
        for row, (kind, start, length) in enumerate(zip(*values, strict=True)):
            if kind == LIST:
                yield row, lists[0](slot, length)
            elif kind == STRING:
                yield row, lists[1](slot, length, _characters(text[start : start + length]))


def _characters(text: Numbers) -> int:
    """Count the characters of a text that may be too long to be searched; of others it is enough to say so."""
    return int(np.count_nonzero((text & 0xC0) != 0x80)) if len(text) > LONGEST_SCANNED else 0


def _lists_of_text(tables: Tables, legend: Legend, slot: int, length: int, characters: int) -> Numbers:
    patterns = [
        list_ for each, pattern, list_ in legend.patterns if each == slot and length > pattern.longest
    ]
    if characters <= LONGEST_SCANNED:
        return np.array(patterns, np.int32)
    grams = _keys(tables, slot, GRAM_SPACE) - tables.gram_first[0]
    contained = tables.gram_list[indices(tables.gram_at[grams], tables.gram_at[grams + 1])]
    return np.concatenate((np.array(patterns, np.int32), contained))


def _lists_of_list(tables: Tables, slot: int, length: int) -> Numbers:
    """Return the lists of the constants that it costs too much to look for; a key has the number of its list."""
    keys = _keys(tables, slot, ELEMENT_SPACE)
    sizes = np.maximum(tables.keys[keys, 0] >> 32, 0)
    dear: Numbers = keys[length * (SEARCHED + sizes) > MOST_SEARCHED].astype(np.int32)
    return dear


def _keys(tables: Tables, slot: int, space: int) -> Numbers:
    return np.flatnonzero((tables.keys[:, 0] & _LOWER) == slot * SPACES + space)

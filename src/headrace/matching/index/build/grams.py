"""Texts that are contained in others, found by a gram: up to four bytes of each, the rarest among all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.index.build.ragged import ends_of
from headrace.matching.index.build.source import LOW
from headrace.matching.machine import compiled, kernel

if TYPE_CHECKING:
    import numpy.typing as npt

    from headrace.matching.index.build.check_groups import Questions
    from headrace.matching.index.build.source import Draft
    from headrace.matching.index.tables import Bytes, Longs

    Numbers = npt.NDArray[Any]

LONGEST = 4
GRAM_TAG = 16
"""The tag of a gram is minus this and its length: below all other tags."""

_BUCKETS = 1 << 16


@dataclass(frozen=True, slots=True)
class Grams:
    """Distinct grams of slots, and for each of these its entries: text, place in it, number of the question."""

    first: Numbers
    slot: Numbers
    length: Numbers
    value: Numbers
    at: Numbers
    text: Numbers
    offset: Numbers
    contained: Numbers


def grams_of(draft: Draft, questions: Questions, contained: Numbers) -> Grams:
    """Choose a gram for each of these questions, of which none is about the empty text."""
    if len(contained) == 0:
        return _NONE
    texts = draft.values[questions.check[contained], LOW]
    offset, value = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.int64)
    length = np.minimum(questions.text_length[contained], LONGEST)
    choose_grams(draft.text, draft.text_at, texts, np.zeros(_BUCKETS, np.int64), offset, value)
    slot = questions.slot[contained]
    order = np.lexsort((value, length, slot))
    rows = np.stack((slot, length, value), axis=1)[order]
    new = np.ones(len(rows), np.bool_)
    new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    first = np.flatnonzero(new)
    number = np.cumsum(new) - 1
    return Grams(
        first=first,
        slot=rows[first, 0],
        length=rows[first, 1],
        value=rows[first, 2],
        at=ends_of(number, len(first)),
        text=texts[order],
        offset=offset[order],
        contained=order,
    )


_NOTHING = np.empty(0, np.int64)
_NONE = Grams(_NOTHING, _NOTHING, _NOTHING, _NOTHING, np.zeros(1, np.int64), _NOTHING, _NOTHING, _NOTHING)


@compiled
def gram(text: Bytes, position: int, length: int) -> np.int64:
    """Return a gram as a number, the first byte lowest."""
    value = np.int64(0)
    for each in range(length):
        value |= np.int64(text[position + each]) << np.int64(8 * each)
    return value


@kernel
def choose_grams(
    text: Bytes, text_at: Longs, texts: Longs, seen: Longs, offset: Longs, value: Longs
) -> None:
    """Count all grams, then take of each text the one that was counted least."""
    mask = len(seen) - 1
    for phase in range(2):
        for each in range(len(texts)):
            start = text_at[texts[each]]
            size = text_at[texts[each] + 1] - start
            length = min(size, LONGEST)
            least = np.int64(-1)
            for start_at in range(size - length + 1):
                found = gram(text, start + start_at, length)
                bucket = (found * np.int64(0x9E3779B1) >> np.int64(13)) & mask
                if phase == 0:
                    seen[bucket] += 1
                elif least < 0 or seen[bucket] < least:
                    least = seen[bucket]
                    offset[each] = start_at
                    value[each] = found

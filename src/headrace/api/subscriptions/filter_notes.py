"""What is said of filters whenever their subscription is shown: found out once, by compiling them, and remembered."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from headrace.errors import FilterError
from headrace.filters import compile_filter

if TYPE_CHECKING:
    from collections.abc import Sequence

_REMEMBERED = 200_000


class Look(NamedTuple):
    """What the author of filters should know, and why this version can't use them, where it can't."""

    notes: tuple[str, ...]
    unusable: str | None


_GOOD = Look((), None)


class FilterLooks:
    """Threads may share it. Filters are known by what is in them, so there is nothing to forget when one changes."""

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._looks: dict[bytes, Look] = {}

    def at(self, filters: Sequence[Any]) -> Look:
        """Look at filters, or remember the look."""
        key = blake2b(msgspec.json.encode(filters), digest_size=16).digest()
        look = self._looks.get(key)
        if look is None:
            look = _look(filters)
            if len(self._looks) >= self._most:
                self._looks = {}  # more than that are seldom shown again soon
            self._looks[key] = look
        return look


def _look(filters: Sequence[Any]) -> Look:
    try:
        notes = tuple(compile_filter(list(filters)).notes)
    except FilterError as error:
        return Look((), str(error))
    return Look(notes, None) if notes else _GOOD


LOOKS = FilterLooks()
"""What a filter means is the same for everybody in a process."""

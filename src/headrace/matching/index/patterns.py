"""Which of many patterns are found in a text, in one run of RE2 over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import re2

from headrace.filters.values.patterns import InvalidPattern, compile_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from headrace.matching.rules.checks import Pattern

    Numbered = tuple[Pattern, int]

_MEMORY = 64 << 20
_KEPT = 50_000
_EVERYWHERE = ""
"""A pattern that is found in every text: where the set doesn't find it, it ran out of memory and found nothing."""


class PatternSet:
    """Patterns with numbers. What was asked is remembered, up to a limit. Belongs to one thread at a time."""

    def __init__(self, patterns: Sequence[Numbered]) -> None:
        """Take the patterns; one that RE2 can't read is found nowhere."""
        self._sets = _sets_of([each for each in patterns if _is_pattern(each[0].text)])
        self._known: dict[bytes, npt.NDArray[np.int32]] = {}

    def found_in(self, text: bytes) -> npt.NDArray[np.int32]:
        """Return the numbers of the patterns that are found in a text."""
        known = self._known.get(text)
        if known is None:
            found = [number for patterns, set_ in self._sets for number in _search(patterns, set_, text)]
            known = np.array(found, np.int32)
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[text] = known
        return known


def _search(patterns: list[Numbered], set_: Any, text: bytes) -> list[int]:
    found = None if set_ is None else set_.Match(text)
    if found is None:
        decoded = text.decode(errors="surrogatepass")
        hits = [each for each in patterns if compile_pattern(each[0].text).search(decoded) is not None]
    else:
        hits = [patterns[each] for each in found if each < len(patterns)]
    return [number for pattern, number in hits if len(text) <= pattern.longest]


def _sets_of(patterns: list[Numbered]) -> list[tuple[list[Numbered], Any]]:
    """Make one set, or several where they don't fit into one; a pattern that fits into none is searched alone."""
    if not patterns:
        return []
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    made = re2.Set.SearchSet(options)
    try:
        for pattern, _ in patterns:
            made.Add(pattern.text)
        made.Add(_EVERYWHERE)
        made.Compile()
    except re2.error:
        middle = len(patterns) // 2
        return (
            [(patterns, None)] if middle == 0 else _sets_of(patterns[:middle]) + _sets_of(patterns[middle:])
        )
    return [(patterns, made)]


def _is_pattern(pattern: str) -> bool:
    try:
        compile_pattern(pattern)
    except InvalidPattern:
        return False
    return True

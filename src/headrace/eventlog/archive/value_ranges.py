"""The least and greatest values of a file's attributes, which the manifest has so that files can be skipped unopened.

Long strings are truncated: that makes the least one smaller, and the greatest one is rounded up.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from headrace.eventlog.archive.columns import extension_column
from headrace.filters.backends.arrow.table import ATTRIBUTE_COLUMNS
from headrace.filters.backends.extremes import PUBLISH_TIME, Extremes, StringRange, TimeRange
from headrace.filters.backends.search import EVENT_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from headrace.eventlog.archive.manifest import ArchivedFile

LONGEST = 64
"""How many characters of a value the manifest keeps."""
_SURROGATES = range(0xD800, 0xE000)


class ValueRanges:
    """Collects the least and greatest values while a file is written."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[str, str]] = {}

    def add(self, group: pa.RecordBatch, extensions: Sequence[str]) -> None:
        """Add a row group, in which these extensions have a column."""
        for name in ATTRIBUTE_COLUMNS:
            self._add(name, group[name])
        for name in extensions:
            self._add(name, group[extension_column(name)])

    def result(self) -> dict[str, StringRange]:
        """Return the values for the manifest, without attributes that no event has."""
        return {
            name: StringRange(least[:LONGEST], rounded_up(greatest))
            for name, (least, greatest) in self._found.items()
        }

    def _add(self, name: str, column: pa.StringArray) -> None:
        found = pc.min_max(column).as_py()
        if found["min"] is None:
            return
        least, greatest = self._found.get(name, (found["min"], found["max"]))
        self._found[name] = min(least, found["min"]), max(greatest, found["max"])


def rounded_up(text: str) -> str | None:
    """Return a short string that is no smaller than any with the same beginning; None if there is none."""
    if len(text) <= LONGEST:
        return text
    beginning = text[:LONGEST].rstrip(chr(sys.maxunicode))
    return beginning[:-1] + _following(beginning[-1]) if beginning else None


def file_extremes(file: ArchivedFile) -> Extremes:
    """Return the extremes that the manifest has of a file's events."""
    strings: dict[tuple[str, ...], StringRange] = {
        ("tenant",): StringRange(file.namespace, file.namespace),
        ("collection",): StringRange(file.channel, file.channel),
        **{("ce", name): each for name, each in file.values.items()},
    }
    moments: dict[tuple[str, ...], TimeRange] = {
        PUBLISH_TIME: TimeRange(*(each // 1000 for each in file.published))
    }
    if file.happened is not None:
        moments[EVENT_TIME] = TimeRange(*file.happened)
    return Extremes(strings, moments, all_extensions=not file.more_extensions)


def _following(character: str) -> str:
    code = ord(character) + 1
    return chr(_SURROGATES.stop if code in _SURROGATES else code)

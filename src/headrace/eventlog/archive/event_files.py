"""Writing a Parquet file of events: row groups of bounded size, with statistics by which a search skips them."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.eventlog.archive.columns import (
    EVENT_TIME,
    extension_column,
    extension_names,
    extensions_with_column,
    largest_event,
    with_event_time,
    with_extensions,
)
from headrace.eventlog.archive.manifest import ArchivedFile
from headrace.eventlog.archive.value_ranges import ValueRanges
from headrace.events.positions import partition_of, position_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from headrace.eventlog.archive.channel_days import ChannelDay
    from headrace.eventlog.archive.manifest import Span
    from headrace.eventlog.archive.storage import Storage
    from headrace.filters.backends.extremes import StringRange

GROUP_ROWS = 1 << 16
GROUP_BYTES = 32 << 20
"""A row group is what a search reads or skips as a whole, and what is in memory while it is written."""

_SOUGHT = ("id", "source", "type", "subject")
# Columns whose values repeat; for others, a dictionary would fill up and be given up.
_REPEATING = (
    "namespace", "channel", "specversion", "source", "type", "subject", "datacontenttype", "dataschema", "data_kind",
    "extensions.key_value.key", "extensions.key_value.value",
    "extension_types.key_value.key", "extension_types.key_value.value",
)  # fmt: skip
_ORDERED = ("position", "publish_time", EVENT_TIME)
_COMPARED = (
    "namespace", "channel", "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema",
)  # fmt: skip
_FALSE_POSITIVES = 0.01
_SLICE_ROWS = 4096
_ALL_ROWS = 1 << 30


class EventFile:
    """A file that is being written, in order of position. It counts once a manifest names it."""

    def __init__(self, storage: Storage, day: ChannelDay) -> None:
        self._storage = storage
        self._day = day
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = self.waiting_bytes = 0
        self._output: _Output | None = None
        self._contents = _Contents()
        self._values = ValueRanges()

    def add(self, events: pa.RecordBatch) -> None:
        """Add events; they are written when they fill a row group."""
        for start in range(0, events.num_rows, _SLICE_ROWS):
            part = events.slice(start, _SLICE_ROWS)
            self._waiting.append(part)
            self._waiting_rows += part.num_rows
            self.waiting_bytes += part.nbytes
            if self._waiting_rows >= GROUP_ROWS or self.waiting_bytes >= GROUP_BYTES:
                self.flush()

    def flush(self) -> None:
        """Write the waiting events as a row group."""
        if not self._waiting:
            return
        group = with_event_time(pa.concat_batches(self._waiting))
        self._waiting, self._waiting_rows, self.waiting_bytes = [], 0, 0
        names = extension_names(group)
        if self._output is None:
            self._output = _Output(self._storage, self._day, group, extensions_with_column(names))
        self._contents.add(group, not set(names) <= set(self._output.extensions))
        columns = with_extensions(group, self._output.extensions)
        self._values.add(columns, self._output.extensions)
        self._output.write(columns)

    def close(self) -> ArchivedFile:
        """Finish the file and return its entry for the manifest. It isn't durable yet."""
        self.flush()
        assert self._output is not None  # noqa: S101  a file is made for events
        return self._contents.result(self._day, self._output, self._values.result())


class _Output:
    """The Parquet writer. The first row group decides which columns it has and how large its Bloom filters are."""

    def __init__(
        self, storage: Storage, day: ChannelDay, first: pa.RecordBatch, extensions: list[str]
    ) -> None:
        self.extensions = extensions
        self.path = f"{day.folder}/{first['position'][0].as_py():019d}-{secrets.token_hex(6)}.parquet"
        self._file = storage.create(self.path)
        columns = with_extensions(first, extensions)
        sought = [*_SOUGHT, *map(extension_column, extensions)]
        self._writer = pq.ParquetWriter(
            self._file,
            columns.schema,
            compression="zstd",
            use_dictionary=[*_REPEATING, *map(extension_column, extensions)],
            column_encoding=dict.fromkeys(_ORDERED, "DELTA_BINARY_PACKED"),
            write_statistics=[*_ORDERED, *_COMPARED, *map(extension_column, extensions)],
            write_page_index=True,
            write_page_checksum=True,
            bloom_filter_options={
                name: {"ndv": max(pc.count_distinct(columns[name]).as_py(), 1), "fpp": _FALSE_POSITIVES}
                for name in sought
            },
        )

    def write(self, group: pa.RecordBatch) -> None:
        self._writer.write_batch(group, row_group_size=_ALL_ROWS)

    def close(self) -> int:
        """Finish the file and return its size."""
        self._writer.close()
        size = int(self._file.tell())
        self._file.close()
        return size


class _Contents:
    """Collects what the manifest says about a file."""

    def __init__(self) -> None:
        self._rows = self._memory = self._largest = 0
        self._spans: dict[int, Span] = {}
        self._published: Span | None = None
        self._happened: Span | None = None
        self._more_extensions = False

    def add(self, group: pa.RecordBatch, has_more_extensions: bool) -> None:
        self._rows += group.num_rows
        self._memory += group.nbytes
        self._largest = max(self._largest, largest_event(group))
        positions = group["position"].to_numpy()
        for partition, first, last in _partitions(positions):
            self._spans[partition] = _joined(self._spans.get(partition), (first, last + 1))
        self._published = _joined(self._published, _extremes(group["publish_time"].cast(pa.int64())))
        if group[EVENT_TIME].null_count < group.num_rows:
            micros = _extremes(group[EVENT_TIME].cast(pa.int64()))
            self._happened = _joined(self._happened, (micros[0] // 1000, micros[1] // 1000))
        self._more_extensions |= has_more_extensions

    def result(self, day: ChannelDay, output: _Output, values: dict[str, StringRange]) -> ArchivedFile:
        assert self._published is not None  # noqa: S101  there are events
        return ArchivedFile(
            path=output.path,
            namespace=day.namespace,
            channel=day.channel,
            date=day.date.isoformat(),
            rows=self._rows,
            bytes=output.close(),
            memory=self._memory,
            largest=self._largest,
            spans=self._spans,
            published=self._published,
            happened=self._happened,
            extensions=tuple(output.extensions),
            more_extensions=self._more_extensions,
            values=values,
        )


def _partitions(positions: npt.NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
    """Yield each partition with its first and last position."""
    partition = partition_of(int(positions[0]))
    while True:
        stop = int(np.searchsorted(positions, position_at(partition + 1, 0)))
        yield partition, int(positions[0]), int(positions[stop - 1])
        positions = positions[stop:]
        if not len(positions):
            return
        partition = partition_of(int(positions[0]))


def _joined(known: Span | None, more: Span) -> Span:
    return more if known is None else (min(known[0], more[0]), max(known[1], more[1]))


def _extremes(numbers: pa.Int64Array) -> Span:
    found = pc.min_max(numbers).as_py()
    return found["min"], found["max"]

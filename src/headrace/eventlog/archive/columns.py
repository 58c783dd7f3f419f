"""The columns of archived events: the event table's, and additional ones by which files are searched.

`event_time` is what filters call `eventTime`. A frequent extension is not only in the map but has a column `ce_NAME`
with its canonical string too: Parquet has statistics and Bloom filters for columns, not for maps.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.events.batch import SCHEMA
from headrace.filters.backends.arrow.times import event_times

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

EVENT_TIME = "event_time"
ARCHIVE_SCHEMA = SCHEMA.append(pa.field(EVENT_TIME, pa.timestamp("us", "UTC")))
_PREFIX = "ce_"
_FIXED_BYTES = 128
"""The size of an event without its texts and its data."""
_MAPS = ("extensions", "extension_types")
_MOST_EXTENSIONS = 16
# Spark ignores the case of column names. Every name that the specification allows is of this form.
_NAME = re.compile(r"[a-z0-9]+")


def extension_column(name: str) -> str:
    """Return the name of an extension's column."""
    return _PREFIX + name


def with_event_time(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Add the column `event_time`."""
    moments = event_times(batch["time"]).cast(pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC"))
    return pa.RecordBatch.from_arrays([*batch.columns, moments], schema=ARCHIVE_SCHEMA)


def with_extensions(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """Add the columns of these extensions."""
    columns = [pc.map_lookup(batch["extensions"], pa.scalar(name), "first") for name in names]
    return pa.RecordBatch.from_arrays([*batch.columns, *columns], schema=schema_with(names))


def schema_with(names: Sequence[str]) -> pa.Schema:
    """Return the schema of a file in which these extensions have a column."""
    return pa.schema([*ARCHIVE_SCHEMA, *((extension_column(name), pa.string()) for name in names)])


def extension_names(batch: pa.RecordBatch) -> list[str]:
    """Return the names of the events' extensions, the most frequent first."""
    counts = pc.value_counts(_keys(batch))
    ordered = sorted(counts.to_pylist(), key=lambda each: (-each["counts"], each["values"]))
    return [each["values"] for each in ordered]


def _keys(batch: pa.RecordBatch) -> pa.StringArray:
    extensions = batch["extensions"]
    offsets = extensions.offsets
    first, last = offsets[0].as_py(), offsets[-1].as_py()
    return extensions.keys.slice(first, last - first)


def extensions_with_column(names: Sequence[str]) -> list[str]:
    """Return the extensions that get a column."""
    return sorted(name for name in names[:_MOST_EXTENSIONS] if _NAME.fullmatch(name))


def largest_event(batch: pa.RecordBatch) -> int:
    """Return how many bytes the largest event of a batch takes."""
    texts = [each for each in batch.columns if pa.types.is_string(each.type) or pa.types.is_binary(each.type)]
    sizes = sum(pc.fill_null(pc.binary_length(each), 0).to_numpy() for each in texts)
    return int(sum((_map_sizes(batch[name]) for name in _MAPS), sizes).max()) + _FIXED_BYTES


def _map_sizes(maps: pa.MapArray) -> npt.NDArray[np.int64]:
    """Return the bytes of each row's names and values."""
    lengths = pc.add(pc.binary_length(maps.keys), pc.binary_length(maps.items)).to_numpy()
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    sizes: npt.NDArray[np.int64] = np.diff(sums[maps.offsets.to_numpy()])
    return sizes

"""The columns of archived events: the event table's, and those by which files are searched.

`event_time` is what filters call `eventTime`. An extension that many events carry has a column `ce_NAME` besides its
place in the map, with its canonical string: Parquet has statistics and Bloom filters for columns, not for maps.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from headrace.events.batch import SCHEMA
from headrace.filters.backends.arrow.times import event_times

if TYPE_CHECKING:
    from collections.abc import Sequence

EVENT_TIME = "event_time"
ARCHIVE_SCHEMA = SCHEMA.append(pa.field(EVENT_TIME, pa.timestamp("us", "UTC")))
_PREFIX = "ce_"
_MOST_EXTENSIONS = 16
# Spark doesn't tell columns apart by case. Every name that the specification allows is of this form.
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


def worthy(names: Sequence[str]) -> list[str]:
    """Return those of the names that get a column."""
    return sorted(name for name in names[:_MOST_EXTENSIONS] if _NAME.fullmatch(name))

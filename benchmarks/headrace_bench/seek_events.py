"""Events by the million for `headrace bench seek`: a block of orders again and again, each time with new attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa

from headrace.eventlog.archive.archiver import write_files
from headrace.events.batch import SCHEMA, to_batch
from headrace.events.positions import LogPosition
from headrace.events.recorded import Arrival
from headrace_bench.events import bench_events

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.eventlog.archive.storage import Storage

CHANNEL = ("bench", "seek")
NEEDLE = "the one that is sought"
_BLOCK = 16_384
_COMMIT = 500_000
_FIRST_TIME = 1_767_225_600_000_000
_MICROSECONDS_APART = 1_000
_SCATTER = 0x9E3779B97F4A7C15


def id_at(position: int) -> str:
    """Return the id of the event at a position: no order in it, and none twice."""
    return str((position * _SCATTER) % (1 << 64))


def extension_at(position: int) -> str:
    """Return its `gtid`, which grows with the position as a database's transaction ids do."""
    return f"0-1-{position:012d}"


def archived_events(storage: Storage, count: int, needle: int) -> Iterator[int]:
    """Write events to an archive as archiving does; yield how many are there. One's data has a text of its own."""
    orders = to_batch([Arrival(event, *CHANNEL) for event in bench_events(_BLOCK)], 0, 0)
    for first in range(0, count, _COMMIT):
        behind = min(first + _COMMIT, count)
        blocks = (
            _block(orders, start, min(start + _BLOCK, behind), needle)
            for start in range(first, behind, _BLOCK)
        )
        files = write_files(storage, blocks)
        manifest = storage.manifest()
        storage.commit(manifest.followed(now=0.0, add=files, archived=LogPosition.at(behind)))
        yield behind


def _block(orders: pa.RecordBatch, start: int, end: int, needle: int) -> pa.RecordBatch:
    positions = np.arange(start, end, dtype=np.int64)
    texts = pa.array([extension_at(position) for position in positions.tolist()])
    ones = pa.array(np.arange(len(positions) + 1, dtype=np.int32))
    changed = {
        "position": pa.array(positions),
        "publish_time": pa.array(_FIRST_TIME + positions * _MICROSECONDS_APART).cast(
            SCHEMA.field("publish_time").type
        ),
        "id": pa.array(positions.astype(np.uint64) * np.uint64(_SCATTER)).cast(pa.string()),
        "extensions": pa.MapArray.from_arrays(ones, pa.array(["gtid"] * len(positions)), texts),
    }
    block = orders.slice(0, len(positions))
    if start <= needle < end:
        changed["data"] = _with_needle(block["data"], needle - start)
    return pa.RecordBatch.from_arrays(
        [changed.get(name, block[name]) for name in SCHEMA.names], schema=SCHEMA
    )


def _with_needle(data: pa.BinaryArray, row: int) -> pa.BinaryArray:
    documents = data.to_pylist()
    documents[row] = msgspec.json.encode(msgspec.json.decode(documents[row]) | {"note": NEEDLE})
    return pa.array(documents, pa.binary())

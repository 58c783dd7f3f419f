"""Events in Arrow columns, the form in which the log, Spark and the matcher hold them.

`to_batch` and `from_batch` are exact inverses. The columns are a file format: segments of the log hold them
without saying which they are, so a change of the columns is a new version of the segments' format.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.events.canonical import canonical_string, type_name, typed
from headrace.events.event import AttributeValue, DataKind, Event
from headrace.events.recorded import Arrival, Recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_TIME = pa.timestamp("us", "UTC")
_STRINGS = pa.map_(pa.string(), pa.string())
COLUMNS = ("specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema")
_HAVE_COLUMNS = frozenset(COLUMNS)
_ENOUGH_ROWS = 2048

SCHEMA = pa.schema(
    [
        ("position", pa.int64()),
        ("publish_time", _TIME),
        ("namespace", pa.string()),
        ("channel", pa.string()),
        ("traceparent", pa.string()),
        ("tracestate", pa.string()),
        *((name, pa.string()) for name in COLUMNS),
        ("extensions", _STRINGS),
        ("extension_types", _STRINGS),
        ("data", pa.binary()),
        ("data_kind", pa.int8()),
    ]
)
"""`extensions` holds every attribute without a column of its own, as its canonical string;
`extension_types` says which of them are no strings: `boolean`, `integer` or `json`."""


def to_batch(arrivals: Sequence[Arrival], first_position: int, publish_time: int) -> pa.RecordBatch:
    """Lay arrivals out in columns, at consecutive positions and with one publish time.

    The data of one batch must stay below 2 GiB, the reach of Arrow's 32-bit offsets.
    """
    positions = pa.array(range(first_position, first_position + len(arrivals)), pa.int64())
    times = pa.repeat(pa.scalar(publish_time, _TIME), len(arrivals))
    return _lay_out(positions, times, arrivals)


def recorded_batch(recorded: Sequence[Recorded]) -> pa.RecordBatch:
    """Lay events out that have their positions and publish times already."""
    positions = pa.array([each.position for each in recorded], pa.int64())
    times = pa.array([each.publish_time for each in recorded], pa.int64()).cast(_TIME)
    return _lay_out(positions, times, [each.arrival for each in recorded])


def _lay_out(positions: pa.Array, times: pa.Array, arrivals: Sequence[Arrival]) -> pa.RecordBatch:
    events = [arrival.event for arrival in arrivals]
    attributes = [event.attributes for event in events]
    strings = [
        [arrival.namespace for arrival in arrivals],
        [arrival.channel for arrival in arrivals],
        [arrival.traceparent for arrival in arrivals],
        [arrival.tracestate for arrival in arrivals],
        *([each.get(name) for each in attributes] for name in COLUMNS),
    ]
    extensions = [[item for item in each.items() if item[0] not in _HAVE_COLUMNS] for each in attributes]
    columns = [
        positions,
        times,
        *(pa.array(values, pa.string()) for values in strings),
        _map_array(extensions, canonical_string),
        _map_array(
            [[item for item in each if not isinstance(item[1], str)] for each in extensions], type_name
        ),
        pa.array([event.data for event in events], pa.binary()),
        pa.array([event.data_kind for event in events], pa.int8()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def from_batch(batch: pa.RecordBatch) -> list[Recorded]:
    """Read back what `to_batch` wrote, slices of a batch included."""
    attributes = [
        {name: value for name, value in zip(COLUMNS, row, strict=True) if value is not None}
        for row in zip(*(batch[name].to_pylist() for name in COLUMNS), strict=True)
    ]
    types = map(dict, _map_items(batch["extension_types"]))
    for each, extensions, kinds in zip(attributes, _map_items(batch["extensions"]), types, strict=True):
        each.update((name, typed(text, kinds.get(name))) for name, text in extensions)
    events = map(Event, attributes, batch["data"].to_pylist(), map(DataKind, batch["data_kind"].to_pylist()))
    context = (batch[name].to_pylist() for name in ("namespace", "channel", "traceparent", "tracestate"))
    arrivals = map(Arrival, events, *context)
    times = batch["publish_time"].cast(pa.int64()).to_pylist()
    return list(map(Recorded, batch["position"].to_pylist(), times, arrivals))


def coalesce(batches: Iterable[pa.RecordBatch], rows: int = _ENOUGH_ROWS) -> Iterator[pa.RecordBatch]:
    """Join small batches, since working on a batch has a price of its own; large ones pass without a copy."""
    waiting: list[pa.RecordBatch] = []
    waiting_rows = 0
    for batch in batches:
        waiting.append(batch)
        waiting_rows += batch.num_rows
        if waiting_rows >= rows:
            yield _join(waiting)
            waiting, waiting_rows = [], 0
    if waiting:
        yield _join(waiting)


def _join(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _map_array(
    rows: Sequence[Sequence[tuple[str, AttributeValue]]], text: Callable[[AttributeValue], str]
) -> pa.MapArray:
    offsets = pa.array(accumulate(map(len, rows), initial=0), pa.int32())
    names = pa.array([name for row in rows for name, _ in row], pa.string())
    texts = pa.array([text(value) for row in rows for _, value in row], pa.string())
    return pa.MapArray.from_arrays(offsets, names, texts)


def _map_items(array: pa.MapArray) -> Iterable[list[tuple[str, str]]]:
    if len(array) == 0:
        return iter(())
    offsets = array.offsets.to_pylist()
    first, last = offsets[0], offsets[-1]
    names = array.keys.slice(first, last - first).to_pylist()
    items = list(zip(names, array.items.slice(first, last - first).to_pylist(), strict=True))
    return (items[start - first : end - first] for start, end in pairwise(offsets))

"""Events as rows of the event table."""

import pyarrow as pa

from headrace.events.batch import to_batch
from headrace.events.recorded import Arrival, Recorded


def table_of(events) -> pa.RecordBatch:
    """A batch with one row per event; a bare event gets a channel, as everything in a log has one."""
    return pa.concat_batches([_row(position, event) for position, event in enumerate(events)])


def _row(position, event) -> pa.RecordBatch:
    if isinstance(event, Recorded):
        return to_batch([event.arrival], position, event.publish_time)
    return to_batch([Arrival(event, "a", "b")], position, 1_577_836_800_000_999)

"""Compute `eventTime` for a whole column of `time` attributes."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headrace.events.event import Event
from headrace.filters.variables import variables_of

# Texts that Arrow and the reference evaluator parse alike. Arrow also accepts others that aren't timestamps.
_USUAL = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$"


def event_times(texts: pa.StringArray) -> pa.Int64Array:
    """Return milliseconds since the epoch, null where the time is missing or invalid."""
    if pc.all(pc.match_substring_regex(texts, _USUAL)).as_py() is not False:
        try:
            return _in_milliseconds(texts.cast(pa.timestamp("ns", "UTC")))
        except pa.ArrowInvalid:
            pass  # a 30th of February, second 60, a year beyond the range of nanoseconds
    encoded = texts.dictionary_encode()
    moments = pa.array([event_time(each) for each in encoded.dictionary.to_pylist()], pa.int64())
    return moments.take(encoded.indices)


def event_time(text: str) -> int | None:
    """Return `eventTime` for this time."""
    return variables_of(Event({"time": text})).get("eventTime")  # type: ignore[return-value]


def _in_milliseconds(moments: pa.Array) -> pa.Int64Array:
    return pc.floor_temporal(moments, unit="millisecond").cast(pa.timestamp("ms", "UTC")).cast(pa.int64())

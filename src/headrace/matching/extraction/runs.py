"""Events of one channel at a time: rows that the same part of the index is asked about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.events.batch import from_batch
from headrace.events.recorded import Recorded
from headrace.filters.variables import variables_of
from headrace.matching.extraction.extractor import Extract

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from headrace.events.event import Event
    from headrace.filters.variables import Variables
    from headrace.matching.extraction.fields import Fields
    from headrace.matching.scope import Channel

    Numbers = npt.NDArray[Any]

NO_POSITION = -1


@dataclass
class Run:
    """Some rows of what is matched. Bare events have no channel, and no position."""

    channel: Channel | None
    rows: Numbers  # their places in what is matched
    events: pa.RecordBatch | Sequence[Event | Recorded]

    is_all: bool = False  # whether these are all rows, in their order

    @cached_property
    def positions(self) -> Numbers:
        """The rows' positions in the log."""
        if isinstance(self.events, pa.RecordBatch):
            positions: Numbers = self.events["position"].to_numpy()
            return positions
        return np.array(
            [e.position if isinstance(e, Recorded) else NO_POSITION for e in self.events], np.int64
        )

    def extract(self, fields: Fields) -> Extract:
        """Read the fields of all rows."""
        if isinstance(self.events, pa.RecordBatch):
            return Extract.of_batch(self.events, fields)
        return Extract.of_events(self.events, fields)

    def variables(self, rows: Numbers) -> list[Variables]:
        """Return the variables of some rows, numbered within the run, for the reference evaluator."""
        if isinstance(self.events, pa.RecordBatch):
            return list(map(variables_of, from_batch(self.events.take(pa.array(rows)))))
        return [variables_of(self.events[row]) for row in rows.tolist()]


def runs_of_batch(batch: pa.RecordBatch) -> Iterator[Run]:
    """Split a batch by channel."""
    if batch.num_rows == 0:
        return
    namespaces, names = (batch[column].dictionary_encode() for column in ("namespace", "channel"))
    if len(namespaces.dictionary) == len(names.dictionary) == 1:
        channel = namespaces.dictionary[0].as_py(), names.dictionary[0].as_py()
        yield Run(channel, np.arange(batch.num_rows), batch, is_all=True)
        return
    width = len(names.dictionary)
    keys = namespaces.indices.to_numpy() * width + names.indices.to_numpy()
    order = np.argsort(keys, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        namespace, name = divmod(int(keys[rows[0]]), width)
        channel = namespaces.dictionary[namespace].as_py(), names.dictionary[name].as_py()
        yield Run(channel, rows, batch.take(pa.array(rows)))


def runs_of_events(events: Sequence[Event | Recorded]) -> Iterator[Run]:
    """Split events by channel."""
    by_channel: dict[Channel | None, list[int]] = {}
    for row, event in enumerate(events):
        arrival = event.arrival if isinstance(event, Recorded) else None
        channel = None if arrival is None else (arrival.namespace, arrival.channel)
        by_channel.setdefault(channel, []).append(row)
    for channel, rows in by_channel.items():
        is_all = len(rows) == len(events)
        yield Run(channel, np.array(rows, np.int64), [events[row] for row in rows], is_all)

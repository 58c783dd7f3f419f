"""How events are divided among files: by channel and by the day they were accepted, in UTC."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from headrace.eventlog.archive.storage import EVENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

_DAY = 86_400_000_000
_HOSTILE = re.compile(rb"[^A-Za-z0-9-]")
_LONGEST = 200
"""What a folder's name may take; file systems stop at 255 bytes."""


class Partition(NamedTuple):
    """Events that share a folder."""

    namespace: str
    channel: str
    date: date

    @property
    def folder(self) -> str:
        """Its folder below the archive. For people and other tools: the manifest is what says which file is whose."""
        return f"{EVENTS}/namespace={_safe(self.namespace)}/channel={_safe(self.channel)}/date={self.date}"


def divide(batch: pa.RecordBatch) -> Iterator[tuple[Partition, pa.RecordBatch]]:
    """Yield each partition's events of a batch, in their order."""
    days = batch["publish_time"].cast(pa.int64()).to_numpy() // _DAY
    namespaces, channels = (batch[name].dictionary_encode() for name in ("namespace", "channel"))
    keys = np.stack([days, *(each.indices.to_numpy() for each in (namespaces, channels))])
    distinct, owners = np.unique(keys, axis=1, return_inverse=True)
    for number, (day, namespace, channel) in enumerate(distinct.T.tolist()):
        partition = Partition(
            namespaces.dictionary[namespace].as_py(), channels.dictionary[channel].as_py(), _date(day)
        )
        if distinct.shape[1] == 1:
            yield partition, batch
        else:
            yield partition, batch.take(pa.array(np.flatnonzero(owners == number)))


def _date(day: int) -> date:
    return datetime.fromtimestamp(day * _DAY // 1_000_000, UTC).date()


def _safe(name: str) -> str:
    """Write a name so that no file system and no glob takes a part of it for something else."""
    encoded = _HOSTILE.sub(lambda byte: b"%%%02X" % ord(byte.group()), name.encode("utf-8", "surrogatepass"))
    return encoded[:_LONGEST].decode()

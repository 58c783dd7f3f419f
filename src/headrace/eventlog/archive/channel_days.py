"""Division of archived events among folders: by channel, and by the day (in UTC) they were accepted."""

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
"""The most bytes of a folder's name; file systems allow 255."""


class ChannelDay(NamedTuple):
    """Events that share a folder."""

    namespace: str
    channel: str
    date: date

    @property
    def folder(self) -> str:
        """Its folder in the archive. For people and other tools: the manifest says what a file has."""
        return f"{EVENTS}/namespace={_safe(self.namespace)}/channel={_safe(self.channel)}/date={self.date}"


def split_by_channel_day(batch: pa.RecordBatch) -> Iterator[tuple[ChannelDay, pa.RecordBatch]]:
    """Yield the events of a batch by channel and day, in order."""
    days = batch["publish_time"].cast(pa.int64()).to_numpy() // _DAY
    namespaces, channels = (batch[name].dictionary_encode() for name in ("namespace", "channel"))
    keys = np.stack([days, *(each.indices.to_numpy() for each in (namespaces, channels))])
    distinct, owners = np.unique(keys, axis=1, return_inverse=True)
    for number, (day, namespace, channel) in enumerate(distinct.T.tolist()):
        channel_day = ChannelDay(
            namespaces.dictionary[namespace].as_py(), channels.dictionary[channel].as_py(), _date(day)
        )
        if distinct.shape[1] == 1:
            yield channel_day, batch
        else:
            yield channel_day, batch.take(pa.array(np.flatnonzero(owners == number)))


def _date(day: int) -> date:
    return datetime.fromtimestamp(day * _DAY // 1_000_000, UTC).date()


def _safe(name: str) -> str:
    """Percent-encode whatever has a meaning to a file system or in a glob."""
    encoded = _HOSTILE.sub(lambda byte: b"%%%02X" % ord(byte.group()), name.encode("utf-8", "surrogatepass"))
    return encoded[:_LONGEST].decode()

"""Deliveries that were settled while the cursor could not pass them: a crash must not repeat them.

The cursor stands at the first delivery that is neither settled nor waiting here, and others behind it are settled long
before. Each commit adds a row for what was settled since the last one, and drops the rows that the cursor has passed.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import msgspec
from sqlalchemy import delete, func, insert, select

from headrace.events.positions import LogPosition, partition_of
from headrace.ledger.tables import SETTLED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from headrace.eventlog.outbox_partitions import OutboxPartitions

_log = logging.getLogger(__name__)
_DECODER = msgspec.msgpack.Decoder(dict[str, list[int]])


class Settled(NamedTuple):
    """Positions by subscription, of the log or of one replay. `number` tells the rows of one commit from others'."""

    number: int
    replay: str
    positions: Mapping[str, Sequence[int]]

    def end(self) -> LogPosition:
        """Return the cut behind all of them: once the cursor is there, nobody asks for them."""
        ends: dict[int, int] = {}
        for positions in self.positions.values():
            for position in positions:
                partition = partition_of(position)
                ends[partition] = max(ends.get(partition, 0), position + 1)
        return LogPosition(ends)


def write(connection: Connection, rows: Iterable[Settled], shares: OutboxPartitions) -> None:
    """Add rows, each in parts for the shares that its subscriptions belong to."""
    for number, replay, positions in rows:
        by_share: defaultdict[int, dict[str, Sequence[int]]] = defaultdict(dict)
        for subscription, some in positions.items():
            by_share[shares.of(subscription)][subscription] = some
        values = [
            {"share": share, "number": number, "replay": replay, "pairs": _encoded(part)}
            for share, part in by_share.items()
        ]
        connection.execute(insert(SETTLED), values)


def read(connection: Connection, own: Iterable[int], replay: str | None = None) -> Iterator[Settled]:
    """Yield the rows of these shares: of one replay, or of the log where it is empty, or all."""
    query = select(SETTLED).where(SETTLED.c.share.in_(sorted(own)))
    if replay is not None:
        query = query.where(SETTLED.c.replay == replay)
    for row in connection.execute(query.order_by(SETTLED.c.number)):
        if (pairs := _decoded(row.pairs)) is None:
            _log.error(
                "what commit %d says was settled is damaged: those deliveries are repeated", row.number
            )
        yield Settled(row.number, row.replay, pairs or {})


def next_number(connection: Connection) -> int:
    """Return a number that no row has."""
    return int(connection.execute(select(func.max(SETTLED.c.number))).scalar() or 0) + 1


def drop(connection: Connection, own: Iterable[int], numbers: Sequence[int]) -> None:
    """Remove what the cursor has passed."""
    if numbers:
        its = SETTLED.c.share.in_(sorted(own)), SETTLED.c.number.in_(numbers)
        connection.execute(delete(SETTLED).where(*its))


def drop_replay(connection: Connection, replay: str) -> None:
    """Remove what is told of a replay that is over."""
    connection.execute(delete(SETTLED).where(SETTLED.c.replay == replay))


def _encoded(pairs: Mapping[str, Sequence[int]]) -> bytes:
    """Begin with a checksum: a damaged position would keep an event from being delivered."""
    body = msgspec.msgpack.encode(pairs)
    return crc32(body).to_bytes(4, "big") + body


def _decoded(stored: bytes) -> dict[str, list[int]] | None:
    body = stored[4:]
    return _DECODER.decode(body) if crc32(body).to_bytes(4, "big") == stored[:4] else None

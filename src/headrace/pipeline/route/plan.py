"""The rows that workers send to the driver: what they matched, and what they had to leave out."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import OutboxGap
from headrace.events.positions import LogPosition, partition_of
from headrace.subscriptions.store.set_aside import Kind, SetAside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.matching.reports.overruns import Overrun

PLAN = (
    "position long, subscription string, until long, overrun struct<reason: string, times: long>, "
    "aside struct<kind: string, namespace: string, channel: string, reason: string>"
)
"""One of four: something set aside at [position, until) (it alone has `aside`); a note that positions [position,
until) were matched in full (it alone has `until` besides); the overruns of a subscription's filter, the last one at
`position` (they alone have `overrun`); or else a planned delivery."""

_OVERRUN = pa.struct([("reason", pa.string()), ("times", pa.int64())])
_ASIDE = pa.struct([(name, pa.string()) for name in ("kind", "namespace", "channel", "reason")])
_SCHEMA = pa.schema(
    [
        ("position", pa.int64()),
        ("subscription", pa.string()),
        ("until", pa.int64()),
        ("overrun", _OVERRUN),
        ("aside", _ASIDE),
    ]
)


NO_DELIVERIES = pa.Table.from_batches(
    [], pa.schema([_SCHEMA.field("position"), _SCHEMA.field("subscription")])
)


def delivery_rows(positions: pa.Array, subscriptions: pa.Array) -> pa.RecordBatch:
    """Write planned deliveries."""
    nothing = [pa.nulls(len(positions), _SCHEMA.field(name).type) for name in _SCHEMA.names[2:]]
    return pa.RecordBatch.from_arrays([positions, subscriptions, *nothing], schema=_SCHEMA)


def overrun_rows(overruns: Sequence[Overrun]) -> pa.RecordBatch:
    """Write whose filters cost too much."""
    rows = [
        {
            "position": each.position,
            "subscription": each.subscription,
            "overrun": {"reason": each.reason, "times": each.times},
        }
        for each in overruns
    ]
    return pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)


def aside_rows(asides: Sequence[SetAside]) -> pa.RecordBatch:
    """Write what was set aside."""
    rows = [
        {
            "position": each.position,
            "subscription": each.subscription,
            "until": each.until,
            "aside": {name: getattr(each, name) for name in _ASIDE.names},
        }
        for each in asides
    ]
    return pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)


def note_rows(ranges: Sequence[tuple[int, int]]) -> pa.RecordBatch:
    """Write that the positions of these ranges were matched in full."""
    return pa.RecordBatch.from_pylist(
        [{"position": start, "until": end} for start, end in ranges], schema=_SCHEMA
    )


def deliveries_in(plan: pa.Table) -> pa.Table:
    """Return a plan's planned deliveries."""
    others = pc.or_(pc.is_valid(plan["overrun"]), pc.is_valid(plan["aside"]))
    is_delivery = pc.and_(pc.is_valid(plan["subscription"]), pc.invert(others))
    return plan.filter(is_delivery).select(["position", "subscription"])


def asides_in(plan: pa.Table) -> list[SetAside]:
    """Return what a plan sets aside; shards that tell of the same event count as one."""
    found = [
        SetAside(
            Kind(row["aside"]["kind"]),
            row["position"],
            row["until"],
            row["aside"]["reason"],
            row["aside"]["namespace"],
            row["aside"]["channel"],
            row["subscription"],
        )
        for row in plan.filter(pc.is_valid(plan["aside"])).to_pylist()
    ]
    return list({(each.kind, each.position, each.until, each.subscription): each for each in found}.values())


def covered_range(plan: pa.Table, shards: int = 1) -> tuple[LogPosition, LogPosition]:
    """Return the cuts between which the batch covers everything.

    In a partition its tasks' ranges have to join, and each range has to be matched by every shard.
    """
    is_note = pc.and_(pc.is_valid(plan["until"]), pc.is_null(plan["aside"]))
    notes = plan.filter(is_note)
    times = Counter(zip(notes["position"].to_pylist(), notes["until"].to_pylist(), strict=True))
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    for start, end in sorted(times):
        partition = partition_of(start)
        if ends.get(partition, start) != start or times[start, end] != shards:
            raise OutboxGap(ends.get(partition, start), start)
        starts.setdefault(partition, start)
        ends[partition] = end
    return LogPosition(starts), LogPosition(ends)

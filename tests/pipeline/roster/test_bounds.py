"""Pairs within the part of the log for which a subscription holds."""

import pyarrow as pa
import pytest

from headrace.events.positions import LogPosition, position_at
from headrace.pipeline.roster.bounds import Bound, Bounds, last_of

OTHER = position_at(1, 0)


def _kept(bounds, *pairs):
    positions, ids = (list(column) for column in zip(*pairs, strict=True))
    kept = Bounds(bounds).keep(pa.array(positions, pa.int64()), pa.array(ids, pa.string()))
    return list(zip(*(column.to_pylist() for column in kept), strict=True))


@pytest.mark.parametrize("position", [0, 3, 7, OTHER, OTHER + 1])
def test_who_has_no_bounds_sees_everything(position):
    assert _kept({}, (position, "a")) == [(position, "a")]
    assert _kept({"b": Bound({0: 9}, {0: 9})}, (position, "a")) == [(position, "a")]


def test_each_partition_has_bounds_of_its_own():
    bounds = {
        "new": Bound.of(LogPosition.at(5, OTHER + 2), None),
        "ended": Bound.of(LogPosition(), LogPosition.at(3)),
    }
    pairs = [(position, name) for name in ("new", "ended", "old") for position in (2, 3, 5, OTHER, OTHER + 2)]
    assert _kept(bounds, *pairs) == [
        (5, "new"),
        (OTHER + 2, "new"),
        (2, "ended"),
        *((position, "old") for position in (2, 3, 5, OTHER, OTHER + 2)),
    ]


def test_a_bound_is_needed_until_everything_before_it_is_routed():
    bound = Bound.of(LogPosition.at(5, OTHER + 2), LogPosition.at(8, OTHER + 2))
    assert not bound.has_begun(LogPosition.at(9))
    assert bound.has_begun(LogPosition.at(5, OTHER + 2))
    assert not bound.has_ended(LogPosition.at(5, OTHER + 2))
    assert bound.has_ended(LogPosition.at(8, OTHER + 3))
    assert last_of([bound, Bound.of(LogPosition.at(OTHER + 7), None)]) == LogPosition.at(8, OTHER + 7)

"""How much memory events take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    import numpy.typing as npt

_FIXED_BYTES = 128
"""What an event takes besides its texts and its data."""
_MAPS = ("extensions", "extension_types")


def largest_event(batch: pa.RecordBatch) -> int:
    """Return how many bytes the largest event of a batch takes."""
    texts = [each for each in batch.columns if pa.types.is_string(each.type) or pa.types.is_binary(each.type)]
    weights = sum(pc.fill_null(pc.binary_length(each), 0).to_numpy() for each in texts)
    return int(sum((_map_weights(batch[name]) for name in _MAPS), weights).max()) + _FIXED_BYTES


def _map_weights(maps: pa.MapArray) -> npt.NDArray[np.int64]:
    """Return the bytes of each row's names and values."""
    lengths = pc.add(pc.binary_length(maps.keys), pc.binary_length(maps.items)).to_numpy()
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    weights: npt.NDArray[np.int64] = np.diff(sums[maps.offsets.to_numpy()])
    return weights

"""What can be set about matching."""

from __future__ import annotations

import msgspec


class BloomSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The Bloom filter of each collection."""

    fp_rate: float = 0.01
    initial_capacity: int = 1000
    rebuild_interval: float = 86_400.0
    rebuild_fp_threshold: float = 0.02

"""What can be set about matching."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

_Rate = Annotated[float, Meta(gt=0, le=1)]


class BloomSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The Bloom filter of each collection, which is a channel.

    `fp_rate` is the share of look-ups in vain that may pass; at 1 there is no filter. There is room for
    `initial_capacity` keys from the beginning. Every `rebuild_interval` seconds the rate that was measured is
    looked at: above `rebuild_fp_threshold` the filter is built anew.
    """

    fp_rate: _Rate = 0.01
    initial_capacity: Annotated[int, Meta(ge=0)] = 1000
    rebuild_interval: Annotated[float, Meta(gt=0)] = 86_400.0
    rebuild_fp_threshold: _Rate = 0.02

"""Settings of matching; `defaults.toml` explains each. The defaults here are the same, for use as a library."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec import Meta

_Rate = Annotated[float, Meta(gt=0, le=1)]
_Seconds = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomSettings:
    """The Bloom filter of each channel. A value out of its range is a ValueError.

    `fp_rate` is the share of look-ups in vain that may pass; at 1 there is no filter. There is room for
    `initial_capacity` keys from the beginning. Every `rebuild_interval` seconds the rate that was measured is
    looked at: above `rebuild_fp_threshold` the filter is built anew.
    """

    fp_rate: _Rate = 0.01
    initial_capacity: Annotated[int, Meta(ge=0)] = 1000
    rebuild_interval: _Seconds = 86_400.0
    rebuild_fp_threshold: _Rate = 0.02

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class CelSettings:
    """What the index leaves to the evaluator of CEL. A value out of its range is a ValueError.

    `cache_size` compiled filters are kept. An evaluation above `evaluation_timeout` seconds is counted as slow, and
    its answer stands: if the clock decided, an event that is matched again could go to others than before.
    """

    cache_size: Annotated[int, Meta(ge=0)] = 10_000
    evaluation_timeout: _Seconds = 0.1

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchingSettings:
    """How subscriptions are found, and in how many shards of the index the pipeline looks for them."""

    bloom: BloomSettings = field(default_factory=BloomSettings)
    cel: CelSettings = field(default_factory=CelSettings)
    shards: Annotated[int, Meta(ge=1)] = 1


def _check(settings: Any) -> None:
    """Hold what Python code gives to the same bounds as what is read from a file."""
    hints = get_type_hints(type(settings), include_extras=True)
    for each in fields(settings):
        value = getattr(settings, each.name)
        try:
            msgspec.convert(value, hints[each.name])
        except msgspec.ValidationError as error:
            raise ValueError(f"{each.name} is {value!r}, which can't be used: {error}") from None

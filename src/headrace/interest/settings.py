"""Settings of the interest; `defaults.toml` explains each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

_LONGEST_TEXT = 100_000
"""The longest text that Google's CEL parser accepts."""


@dataclass(frozen=True, slots=True)
class InterestSettings:
    """Whether it is served, for how long it may be used, and its longest CEL text."""

    enabled: bool = True
    max_age_seconds: Annotated[float, Meta(ge=0, le=3600)] = 10.0
    longest: Annotated[int, Meta(ge=100, le=_LONGEST_TEXT)] = 20_000

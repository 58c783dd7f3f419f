"""Settings of the subscription store; `defaults.toml` explains each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

_Seconds = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Which database keeps channels and subscriptions."""

    url: str
    patience_seconds: _Seconds

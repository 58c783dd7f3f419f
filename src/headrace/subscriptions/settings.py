"""Settings of the subscription store; `defaults.toml` explains each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta

_Seconds = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Which database keeps channels and subscriptions, and which keys its secrets are encrypted with."""

    url: str
    patience_seconds: _Seconds
    secrets_file: str
    secrets_keys: tuple[str, ...] = field(repr=False)

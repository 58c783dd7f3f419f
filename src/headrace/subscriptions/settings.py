"""Settings of the subscription store; `defaults.toml` explains each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Which database keeps channels and subscriptions."""

    url: str

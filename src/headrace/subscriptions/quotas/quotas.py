"""How much a namespace may have."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

from msgspec import Meta

_Limit = Annotated[int, Meta(ge=0, le=2**53)]
_Rate = Annotated[float, Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class Quotas:
    """What holds for a namespace; 0 is no limit. `filter_cost` is for one subscription, in steps on one event."""

    subscriptions: _Limit = 0
    channels: _Limit = 0
    events_per_second: _Rate = 0.0
    filter_cost: _Limit = 0

    def document(self) -> dict[str, Any]:
        """Return them as the API shows them."""
        return {_API_NAMES[name]: value for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Overrides:
    """What a namespace has of its own; None where the configuration's default holds."""

    subscriptions: int | None = None
    channels: int | None = None
    events_per_second: float | None = None
    filter_cost: int | None = None

    def over(self, defaults: Quotas) -> Quotas:
        """Return what holds."""
        return replace(defaults, **{name: value for name, value in asdict(self).items() if value is not None})

    def document(self) -> dict[str, Any]:
        """Return those that are set."""
        return {_API_NAMES[name]: value for name, value in asdict(self).items() if value is not None}


UNLIMITED = Quotas()
_API_NAMES = {
    "subscriptions": "subscriptions",
    "channels": "channels",
    "events_per_second": "eventsPerSecond",
    "filter_cost": "filterCost",
}
MEMBERS = {shown: name for name, shown in _API_NAMES.items()}
"""Names of the API, and those of the settings."""

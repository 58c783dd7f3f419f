"""What came of an attempt."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from headrace.delivery.parcel import Parcel
    from headrace.subscriptions.subscription import Subscription


class Verdict(Enum):
    """What happens to the delivery next."""

    DONE = "done"
    AGAIN = "again"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict and the reason, as a person would want to read it."""

    verdict: Verdict
    reason: str = ""


class Sender(Protocol):
    """One delivery protocol. It raises nothing: whatever goes wrong is an outcome."""

    async def send(self, subscription: Subscription, parcel: Parcel) -> Outcome:
        """Make one attempt, within the timeout."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...

"""Whether a subscription gets events, and if not, why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.subscriptions.subscription import Subscription


@dataclass(frozen=True, slots=True)
class Readiness:
    """`reason` is one word for programs, `message` a sentence for people; both are empty where all is well."""

    is_ready: bool
    reason: str = ""
    message: str = ""

    def document(self) -> dict[str, Any]:
        """Return it as the API shows it."""
        why = {"reason": self.reason, "message": self.message}
        return {"status": self.is_ready} | {name: text for name, text in why.items() if text}


READY = Readiness(True)


def readiness_of(subscription: Subscription) -> Readiness:
    """Tell it as far as the subscription itself does."""
    if subscription.created is None:
        return Readiness(False, "NotSettled", "where in the log it begins is not settled yet")
    if subscription.ended is not None:
        return Readiness(False, "SinkGone", f"its deliveries ended: {subscription.ended}")
    if subscription.paused:
        return Readiness(False, "Paused", "it is paused; its events wait")
    return READY

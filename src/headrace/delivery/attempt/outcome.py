"""What a sender says about an attempt, and what every sender is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.delivery.attempt.payload import Payload
    from headrace.delivery.attempt.target import Target
    from headrace.events import Event


class Verdict(Enum):
    """What happens to the delivery next. GONE ends all deliveries of the subscription."""

    DONE = "done"
    AGAIN = "again"
    NEVER = "never"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict and the reason, as a person would want to read it; then what the sink said, where it said anything.

    `status` is a protocol's number: of HTTP, or a reason code. `body` is the bounded start of an answer. `retry_after`
    is in seconds from now. `reply` is an event that the sink answered with. `attempted` is false where nothing was
    sent: the sink's own limit said not yet, or our side isn't ready. Such a postponement counts as no failure.
    `unauthorized`: the sink didn't accept the credential, which another one may mend.
    """

    verdict: Verdict
    reason: str = ""
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    retry_after: float | None = None
    reply: Event | None = None
    attempted: bool = True
    unauthorized: bool = False


class Sender(Protocol):
    """One delivery protocol, for one event loop. It raises nothing: whatever goes wrong is an outcome."""

    async def send(self, target: Target, payloads: Sequence[Payload]) -> Outcome:
        """Make one attempt, within the target's timeout. Several payloads are one batch, with one outcome for all.

        Only a target whose `settings["mode"]` is `batched` is given more than one.
        """
        ...

    async def forget(self, owner: str) -> None:
        """Let go of connections that were made for a subscription: it ended, or its settings changed."""
        ...

    async def close(self) -> None:
        """Let go of all connections."""
        ...

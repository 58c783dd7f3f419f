"""What lies in a queue: an event for a subscription, at one stage of its way."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.delivery.attempt.payload import Payload
    from headrace.ledger.ledger import Key


class Delivery(NamedTuple):
    """`waited` says that the ledger holds it, `attempts` how many were made, `due` when the next may be.

    `event` and `failure` are as the ledger has them: the event where it can't be read elsewhere, and the JSON of the
    failure that a dead letter tells of. `payload` is the event without that. `since` is when it was read, by the
    monotonic clock: until the ledger holds it, it keeps the outbox or the replay from being settled.
    """

    key: Key
    payload: Payload
    attempts: int = 0
    waited: bool = False
    due: float = 0.0
    event: bytes | None = None
    failure: str | None = None
    since: float = 0.0

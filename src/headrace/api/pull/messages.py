"""Messages taken from a mailbox with their events, never more than fit into one answer."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from headrace.events.json_format import encode
from headrace.ledger.pull.events import read_messages
from headrace.subscriptions.delivery.spec import Ordering, resolve
from headrace.telemetry.metrics import BURIED, DISCARDED, PULLED

if TYPE_CHECKING:
    from headrace.events import Event
    from headrace.ledger.pull.events import Sources
    from headrace.ledger.pull.leases import MessageLeases
    from headrace.ledger.pull.mailboxes import Message
    from headrace.subscriptions.delivery.spec import DeliverySpec
    from headrace.subscriptions.store.store import Store
    from headrace.subscriptions.subscription import Subscription

_log = logging.getLogger(__name__)
_READ_AT_A_TIME = 100
_MOST_BYTES = 4 << 20
_LOST = "its event can no longer be read from the log"


class HandedMessage(NamedTuple):
    """A message for a consumer; `document` is the event as structured JSON."""

    message: Message
    event: Event
    document: bytes


class MessageSource:
    """Takes messages from mailboxes. Its calls block and are thread-safe."""

    def __init__(self, leases: MessageLeases, store: Store, sources: Sources, defaults: DeliverySpec) -> None:
        self._leases = leases
        self._store = store
        self._sources = sources
        self._defaults = defaults

    def take(
        self, subscription: Subscription, consumer: str, limit: int, *, alone: bool = False
    ) -> list[HandedMessage]:
        """Take the next messages for a consumer, at most `limit` and a few megabytes; none while paused.

        With `alone`, none while another consumer holds any.
        """
        if subscription.paused:
            return []
        lease = lease_of(subscription)
        while taken := self._leases.take(subscription.id, consumer, lease, limit, alone=alone):
            if handed := self._open(subscription, taken):
                PULLED.inc(len(handed))
                return handed
        return []

    def take_back(self, handed: list[HandedMessage]) -> None:
        """Put messages back that were not handed out after all."""
        if handed:
            numbers = [each.message.number for each in handed]
            self._leases.take_back(handed[0].message.subscription, numbers)

    def is_ordered(self, subscription: Subscription) -> bool:
        """Tell whether messages are handed out in order, and so to one consumer at a time."""
        of_channel = None
        if subscription.delivery is None:
            of_channel = self._store.channel_deliveries().get(subscription.channel)
        return resolve(subscription.delivery, of_channel, self._defaults).ordering is not Ordering.UNORDERED

    def _open(self, subscription: Subscription, taken: list[Message]) -> list[HandedMessage]:
        """Read the events of messages; discard messages that are obsolete, bury those whose event is lost."""
        handed: list[HandedMessage] = []
        try:
            wanted = [each for each in taken if _is_wanted(subscription, each)]
            self._discard([each for each in taken if not _is_wanted(subscription, each)])
            size = 0
            for start in range(0, len(wanted), _READ_AT_A_TIME):
                for each in self._read(wanted[start : start + _READ_AT_A_TIME]):
                    if handed and size + len(each.document) > _MOST_BYTES:
                        return handed
                    size += len(each.document)
                    handed.append(each)
            return handed
        finally:
            rest = {each.number for each in taken} - {each.message.number for each in handed}
            self._leases.take_back(subscription.id, sorted(rest))

    def _read(self, messages: list[Message]) -> list[HandedMessage]:
        events = read_messages(messages, self._sources)
        unread = [each for each in messages if each.number not in events]
        self._discard([each for each in unread if each.replay])  # its replay is over
        if lost := [each for each in unread if not each.replay]:
            _log.error(
                "%d events of subscription %s can't be handed out: %s", len(lost), lost[0].subscription, _LOST
            )
            BURIED.inc(len(lost))
            self._leases.bury(lost, {}, _LOST)
        found = [each for each in messages if each.number in events]
        return [HandedMessage(each, events[each.number], encode(events[each.number])) for each in found]

    def _discard(self, messages: list[Message]) -> None:
        if messages:
            DISCARDED.inc(len(messages))
            self._leases.discard([each.number for each in messages])


def lease_of(subscription: Subscription) -> float:
    """Return for how many seconds a consumer holds a message."""
    return float(subscription.protocolsettings["lease"])


def _is_wanted(subscription: Subscription, message: Message) -> bool:
    """Tell whether a message is still to be delivered; a seek makes live messages before its cut obsolete."""
    created = subscription.created
    return bool(message.replay) or created is None or not created.is_behind(message.position)

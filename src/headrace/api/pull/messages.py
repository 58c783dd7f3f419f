"""Handing letters out: taken from a mailbox, with their events, and never more than fits into one answer."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from headrace.events.json_format import encode
from headrace.ledger.pull.events import read_letters
from headrace.subscriptions.delivery.spec import Ordering, resolve
from headrace.telemetry.metrics import BURIED, DISCARDED, PULLED

if TYPE_CHECKING:
    from headrace.events import Event
    from headrace.ledger.pull.consumers import Mailroom
    from headrace.ledger.pull.events import Sources
    from headrace.ledger.pull.mailboxes import Letter
    from headrace.subscriptions.delivery.spec import DeliverySpec
    from headrace.subscriptions.store.store import Store
    from headrace.subscriptions.subscription import Subscription

_log = logging.getLogger(__name__)
_READ_AT_A_TIME = 100
_MOST_BYTES = 4 << 20
_LOST = "its event can't be read from the log any more"


class Handed(NamedTuple):
    """A letter on its way out; `document` is the event as structured JSON."""

    letter: Letter
    event: Event
    document: bytes


class Handing:
    """Its calls block, so an event loop makes them in a thread; any number may be made at once."""

    def __init__(self, mailroom: Mailroom, store: Store, sources: Sources, defaults: DeliverySpec) -> None:
        self._mailroom = mailroom
        self._store = store
        self._sources = sources
        self._defaults = defaults

    def take(
        self, subscription: Subscription, consumer: str, limit: int, *, alone: bool = False
    ) -> list[Handed]:
        """Hand out what comes next, at most so many and no more than a few megabytes; nothing while it is paused.

        With `alone`, nothing while another consumer holds any.
        """
        if subscription.paused:
            return []
        lease = lease_of(subscription)
        while letters := self._mailroom.take(subscription.id, consumer, lease, limit, alone=alone):
            if handed := self._open(subscription, letters):
                PULLED.inc(len(handed))
                return handed
        return []

    def take_back(self, handed: list[Handed]) -> None:
        """Let go of what was not handed out after all."""
        if handed:
            numbers = [each.letter.number for each in handed]
            self._mailroom.take_back(handed[0].letter.subscription, numbers)

    def is_ordered(self, subscription: Subscription) -> bool:
        """Tell whether it has to be handed out in order, and so to one consumer at a time."""
        of_channel = None
        if subscription.delivery is None:
            of_channel = self._store.channel_deliveries().get(subscription.channel)
        return resolve(subscription.delivery, of_channel, self._defaults).ordering is not Ordering.UNORDERED

    def _open(self, subscription: Subscription, letters: list[Letter]) -> list[Handed]:
        """Find the events of letters. What is wanted no more, or can't be read, is seen to here."""
        unopened = {letter.number for letter in letters}
        handed: list[Handed] = []
        try:
            wanted = [letter for letter in letters if _is_wanted(subscription, letter)]
            self._discard([letter for letter in letters if not _is_wanted(subscription, letter)])
            size = 0
            for start in range(0, len(wanted), _READ_AT_A_TIME):
                for each in self._read(wanted[start : start + _READ_AT_A_TIME]):
                    if handed and size + len(each.document) > _MOST_BYTES:
                        return handed
                    size += len(each.document)
                    handed.append(each)
            return handed
        finally:
            self._mailroom.take_back(
                subscription.id, sorted(unopened - {each.letter.number for each in handed})
            )

    def _read(self, letters: list[Letter]) -> list[Handed]:
        events = read_letters(letters, self._sources)
        unread = [letter for letter in letters if letter.number not in events]
        self._discard([letter for letter in unread if letter.replay])  # its replay is over
        if lost := [letter for letter in unread if not letter.replay]:
            _log.error(
                "%d events of subscription %s can't be handed out: %s", len(lost), lost[0].subscription, _LOST
            )
            BURIED.inc(len(lost))
            self._mailroom.bury(lost, {}, _LOST)
        found = [letter for letter in letters if letter.number in events]
        return [Handed(each, events[each.number], encode(events[each.number])) for each in found]

    def _discard(self, letters: list[Letter]) -> None:
        if letters:
            DISCARDED.inc(len(letters))
            self._mailroom.discard([letter.number for letter in letters])


def lease_of(subscription: Subscription) -> float:
    """Return for how many seconds a consumer holds what it was handed."""
    return float(subscription.protocolsettings["lease"])


def _is_wanted(subscription: Subscription, letter: Letter) -> bool:
    """Tell whether it is still to be delivered: not what is live from before a seek's cut."""
    created = subscription.created
    return bool(letter.replay) or created is None or not created.is_behind(letter.position)

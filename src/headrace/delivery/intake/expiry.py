"""What nobody pulls doesn't wait for ever: it would keep the log from being cleared.

What is too old, or too much for one subscription, becomes a dead letter with its event, or is dropped where the
subscription says so. Either way it is counted, and the subscription's status shows it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.clock import CLOCK
from headrace.errors import NotFound
from headrace.events.json_format import encode
from headrace.ledger.pull.events import read_messages
from headrace.protocols.pull import DROP
from headrace.telemetry.metrics import BURIED, DISCARDED, EXPIRED

if TYPE_CHECKING:
    from headrace.delivery.settings import DeliverySettings
    from headrace.eventlog.outbox_partitions import OutboxPartitions
    from headrace.ledger.ledger import Ledger
    from headrace.ledger.pull.events import Sources
    from headrace.ledger.pull.mailboxes import Message
    from headrace.subscriptions.store.store import Store
    from headrace.subscriptions.subscription import Subscription

_log = logging.getLogger(__name__)
_PAGE = 500
# Of one subscription in one round, so that no other waits for long.
_MOST_PAGES = 100
_REASON = "nobody pulled it in time"


class Expiry:
    """Its calls block; one thread at a time. It sees to the mailboxes of the shares that its dispatcher holds."""

    def __init__(
        self,
        ledger: Ledger,
        store: Store,
        sources: Sources,
        shares: OutboxPartitions,
        settings: DeliverySettings,
    ) -> None:
        self._ledger = ledger
        self._store = store
        self._sources = sources
        self._shares = shares
        self._settings = settings

    def clear(self) -> int:
        """Take out of all mailboxes what is overdue, or has no business there any more; return how many that were."""
        own = [each for each in self._ledger.who_has_mail() if self._shares.holds(each)]
        return sum(map(self._clear, own))

    def _clear(self, subscription_id: str) -> int:
        try:
            subscription = self._store.get(subscription_id)
        except NotFound:
            dropped = self._ledger.forget_mail(subscription_id)
            DISCARDED.inc(dropped)
            return dropped
        if not subscription.is_pulled:  # it has a sink now
            return self._ledger.move_from_mail(subscription_id)
        expired = 0
        for _ in range(_MOST_PAGES):
            page = self._overdue(subscription_id)
            self._give_up(subscription, page)
            expired += len(page)
            if len(page) < _PAGE:
                break
        if expired:
            _log.warning("%d events of subscription %s expired: %s", expired, subscription_id, _REASON)
        return expired

    def _overdue(self, subscription_id: str) -> list[Message]:
        before = CLOCK.time() - self._settings.pull_retention_seconds
        return self._ledger.overdue_mail(subscription_id, before, self._settings.pull_max, _PAGE)

    def _give_up(self, subscription: Subscription, messages: list[Message]) -> None:
        if not messages:
            return
        EXPIRED.inc(len(messages))
        if subscription.protocolsettings.get("expired") == DROP:
            self._ledger.expire_mail(messages, None, _REASON)
            return
        read = {number: encode(event) for number, event in read_messages(messages, self._sources).items()}
        over = [each for each in messages if each.replay and each.number not in read]  # with their replay
        self._ledger.expire_mail(over, None, _REASON)
        kept = [each for each in messages if each.number in read or not each.replay]
        self._ledger.expire_mail(kept, read, _REASON)
        BURIED.inc(len(kept))

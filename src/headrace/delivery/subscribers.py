"""The dispatcher's view of the subscriptions, kept up to date by the store's changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.ledger.ledger import Key
    from headrace.subscriptions.store import Store
    from headrace.subscriptions.subscription import Subscription


class Subscribers:
    """`refresh` blocks and belongs to one thread; everything else may be called from the event loop meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._revision = 0
        self._known: dict[str, Subscription] = {}
        self._ended: dict[str, str] = {}

    def refresh(self) -> dict[str, Subscription | None]:
        """Follow the store; return the ids of those that changed or ended meanwhile, with what they were."""
        self._revision, changed = self._store.changes(self._revision)
        before = {subscription.id: self._known.get(subscription.id) for subscription in changed}
        for subscription in changed:
            self._ended.pop(subscription.id, None)
        self._known.update({subscription.id: subscription for subscription in changed})
        for subscription in changed:
            if subscription.deleting:
                del self._known[subscription.id]
        return before

    def wants(self, key: Key) -> bool:
        """Tell whether the sink is still to get this: not where it ended, nor live events before the cut of a seek."""
        subscription = self._known.get(key.subscription)
        if subscription is None or subscription.ended is not None or key.subscription in self._ended:
            return False
        return (
            bool(key.replay)
            or subscription.created is None
            or not subscription.created.is_behind(key.position)
        )

    def get(self, subscription_id: str) -> Subscription | None:
        """Return the subscription as of the last refresh; None where it was deleted or isn't known yet."""
        return self._known.get(subscription_id)

    def is_ended(self, subscription_id: str) -> bool:
        """Tell whether its sink wants nothing more."""
        subscription = self._known.get(subscription_id)
        return subscription_id in self._ended or (subscription is not None and subscription.ended is not None)

    def end(self, subscription_id: str, reason: str) -> bool:
        """Take note, until the store says more, that its sink wants nothing more; tell whether that is new."""
        is_new = not self.is_ended(subscription_id)
        self._ended[subscription_id] = reason
        return is_new

    def revive(self, subscription_id: str) -> None:
        """Forget that: the next answer of the sink will say it again."""
        self._ended.pop(subscription_id, None)

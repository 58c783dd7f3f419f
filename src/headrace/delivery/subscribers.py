"""The dispatcher's view of the subscriptions, kept up to date by the store's changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.ledger.ledger import Key
    from headrace.subscriptions.store import Store
    from headrace.subscriptions.subscription import Subscription


class Subscribers:
    """`refresh` blocks and belongs to one thread; `get` may be called from the event loop meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._revision = 0
        self._known: dict[str, Subscription] = {}

    def refresh(self) -> set[str]:
        """Follow the store; return the ids of those that changed or ended meanwhile."""
        self._revision, changed = self._store.changes(self._revision)
        self._known.update({subscription.id: subscription for subscription in changed})
        for subscription in changed:
            if subscription.deleting:
                del self._known[subscription.id]
        return {subscription.id for subscription in changed}

    def wants(self, key: Key) -> bool:
        """Tell whether a delivery is still wanted: a live one before the cut from which it is live now isn't."""
        subscription = self._known.get(key.subscription)
        if subscription is None:
            return False
        return (
            bool(key.replay)
            or subscription.created is None
            or not subscription.created.is_behind(key.position)
        )

    def get(self, subscription_id: str) -> Subscription | None:
        """Return the subscription as of the last refresh; None where it ended or isn't known yet."""
        return self._known.get(subscription_id)

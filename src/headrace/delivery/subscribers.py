"""The dispatcher's view of the subscriptions, kept up to date by the store's changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.subscriptions.store import Store
    from headrace.subscriptions.subscription import Subscription


class Subscribers:
    """`refresh` blocks and belongs to one thread; `get` may be called from the event loop meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._revision = 0
        self._known: dict[str, Subscription] = {}

    def refresh(self) -> set[str]:
        """Follow the store; return the ids that ended meanwhile."""
        self._revision, changed = self._store.changes(self._revision)
        ended = {subscription.id for subscription in changed if subscription.deleting}
        self._known.update({subscription.id: subscription for subscription in changed})
        for subscription_id in ended:
            del self._known[subscription_id]
        return ended

    def get(self, subscription_id: str) -> Subscription | None:
        """Return the subscription as of the last refresh; None where it ended or isn't known yet."""
        return self._known.get(subscription_id)

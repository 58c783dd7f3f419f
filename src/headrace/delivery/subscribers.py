"""The dispatcher's view of the subscriptions, kept up to date by the store's changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.delivery.channel_deliveries import ChannelDeliveries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.ledger.ledger import Key
    from headrace.subscriptions.store import Store
    from headrace.subscriptions.subscription import Subscription


class Subscribers:
    """`refresh` blocks and belongs to one thread; `get` may be called from the event loop meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._revision = 0
        self._known: dict[str, Subscription] = {}
        self._channels = ChannelDeliveries(store)

    def refresh(self) -> set[str]:
        """Follow the store; return the ids of those that changed or ended, or whose channel's delivery did."""
        moved = self._channels.refresh()
        affected = {each.id for each in self._known.values() if each.channel in moved} if moved else set()
        self._revision, changed = self._store.changes(self._revision)
        self._known.update({subscription.id: subscription for subscription in changed})
        for subscription in changed:
            if subscription.deleting:
                del self._known[subscription.id]
        return affected | {subscription.id for subscription in changed}

    def of_channel(self, subscription: Subscription) -> Mapping[str, Any] | None:
        """Return the delivery object of its channel, which holds where it has none of its own."""
        return self._channels.get(subscription.channel)

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

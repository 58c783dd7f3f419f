"""The dispatcher's view of the subscriptions, kept up to date by the store's changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.delivery.intake.channels import ChannelDeliveries
from headrace.ledger.stages import SINK

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    import numpy as np
    import numpy.typing as npt

    from headrace.delivery.ledger_thread import LedgerThread
    from headrace.ledger.ledger import Key
    from headrace.subscriptions.store.store import Store
    from headrace.subscriptions.subscription import Subscription

    Changed = Mapping[str, Subscription | None]
    """The subscriptions that changed or ended, as they were."""


class Subscribers:
    """`refresh` blocks and belongs to one thread; everything else may be called from the event loop meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._revision = 0
        self._known: dict[str, Subscription] = {}
        self._ended: dict[str, str] = {}
        self._channels = ChannelDeliveries(store)

    def refresh(self) -> dict[str, Subscription | None]:
        """Follow the store; return those that changed or ended, or whose channel's delivery did, as they were."""
        moved = self._channels.refresh()
        before: dict[str, Subscription | None] = {
            each.id: each for each in self._known.values() if moved and each.channel in moved
        }
        self._revision, changed = self._store.changes(self._revision)
        before |= {subscription.id: self._known.get(subscription.id) for subscription in changed}
        for subscription in changed:
            self._ended.pop(subscription.id, None)
        self._known.update({subscription.id: subscription for subscription in changed})
        for subscription in changed:
            if subscription.deleting:
                del self._known[subscription.id]
        return before

    def of_channel(self, subscription: Subscription) -> Mapping[str, Any] | None:
        """Return the delivery object of its channel, which holds where it has none of its own."""
        return self._channels.get(subscription.channel)

    def wants(self, key: Key) -> bool:
        """Tell whether this is still to be delivered: not where the sink has ended, nor live from before a seek's cut.

        Replies and dead letters are, as long as there is the subscription: what they tell of has happened.
        """
        subscription = self._known.get(key.subscription)
        if subscription is None:
            return False
        if key.stage != SINK:
            return True
        if subscription.ended is not None or key.subscription in self._ended:
            return False
        return (
            bool(key.replay)
            or subscription.created is None
            or not subscription.created.is_behind(key.position)
        )

    def wants_all(self, subscription_id: str, positions: npt.NDArray[np.int64]) -> bool:
        """Tell whether each of these events of the log is still to be delivered to its sink."""
        subscription = self._known.get(subscription_id)
        if subscription is None or self.is_ended(subscription_id):
            return False
        return subscription.created is None or not subscription.created.are_behind(positions).any()

    def get(self, subscription_id: str) -> Subscription | None:
        """Return the subscription as of the last refresh; None where it was deleted or isn't known yet."""
        return self._known.get(subscription_id)

    def is_pulled(self, subscription_id: str) -> bool:
        """Tell whether it is known to have a mailbox in place of a sink."""
        subscription = self._known.get(subscription_id)
        return subscription is not None and subscription.is_pulled

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


class SubscriptionChanges:
    """Asks the store for changes, and tells those who follow them. For one event loop."""

    def __init__(self, subscribers: Subscribers, ledger: LedgerThread) -> None:
        self.subscribers = subscribers
        self._in_thread = ledger.run
        self._followers: list[Callable[[Changed], Awaitable[None]]] = []

    def follow(self, follower: Callable[[Changed], Awaitable[None]]) -> None:
        """Tell somebody of all changes from now on."""
        self._followers.append(follower)

    async def refresh(self) -> None:
        """Find out what changed."""
        changed = await self._in_thread(self.subscribers.refresh)
        for follower in self._followers:
            await follower(changed)

    async def learn(self, subscription_ids: Iterable[str]) -> None:
        """Find out what changed, if any of these isn't known."""
        if any(self.subscribers.get(each) is None for each in subscription_ids):
            await self.refresh()

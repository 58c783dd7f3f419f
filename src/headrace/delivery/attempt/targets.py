"""The target of a queue's attempts: made anew when the subscription or what authorises its deliveries changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.delivery.attempt.stages import address_of, sink_target
from headrace.delivery.attempt.target import Target
from headrace.ledger.stages import SINK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.delivery.attempt.target import Credentials
    from headrace.secrets.credential import Plain, Token
    from headrace.subscriptions.delivery.spec import DeliverySpec
    from headrace.subscriptions.subscription import Subscription

    Authority = tuple[Plain | Token | None, tuple[str, ...], Mapping[str, Any]]
    """Credential, signing keys and settings: what a target is made of besides the subscription."""

_OTHER_SETTINGS = {"mode": "binary", "method": "POST"}


class CurrentTarget:
    """Of one subscription at one stage, for one event loop. It is needed for each attempt, so the last one is kept."""

    def __init__(
        self, subscription: Subscription, spec: DeliverySpec, stage: str, credentials: Credentials
    ) -> None:
        self._subscription = subscription
        self._spec = spec
        self._stage = stage
        self._credentials = credentials
        self._known: Target | None = None
        self._authority: Authority = (None, (), {})

    async def get(self) -> Target | None:
        """Return where to, and with what; None where the subscription has no address for the stage."""
        return await self._sink() if self._stage == SINK else self._other()

    async def _sink(self) -> Target | None:
        subscription, credentials = self._subscription, self._credentials
        credential = await credentials.current(subscription)
        credential = credential or credentials.for_local_channel(subscription, subscription.sink)
        authority = credential, credentials.signing(subscription), credentials.settings(subscription)
        is_same = all(new is old for new, old in zip(authority, self._authority, strict=True))
        if self._known is None or not is_same:
            self._known, self._authority = sink_target(subscription, self._spec, *authority), authority
        return self._known

    def _other(self) -> Target | None:
        address = address_of(self._subscription, self._spec, self._stage)
        if address is None:
            return None
        own = self._credentials.for_local_channel(self._subscription, address)
        if self._known is None or self._known.credential is not own:
            self._known = Target(
                self._subscription.id, "HTTP", address, _OTHER_SETTINGS, self._spec.timeout, own
            )
        return self._known

    def can_improve(self, target: Target) -> bool:
        """Tell whether a token that the sink doesn't accept may be replaced by a better one; our own is in a moment."""
        return target.credential is not None and (
            self._credentials.is_own(target.credential) or self._credentials.invalidate(target.owner)
        )

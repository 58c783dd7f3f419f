"""Where an attempt goes: a subscription's sink, its reply address or its dead-letter sink."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.secrets.credential import Plain, Token
    from headrace.subscriptions.subscription import Subscription


@dataclass(frozen=True, slots=True)
class Target:
    """Everything that a sender has to know.

    `owner` is the subscription: connections that carry its credential or its settings are its own. `settings` are the
    protocol's, with defaults applied. `credential` is good at this moment; a sender asks for no other. `wants_reply`:
    an event that the sink answers with has somewhere to go.
    """

    owner: str
    protocol: str
    uri: str
    settings: Mapping[str, Any]
    timeout: float
    credential: Plain | Token | None = None
    signing: tuple[str, ...] = field(default=(), repr=False)
    wants_reply: bool = False


class Credentials(Protocol):
    """Who knows what authorises deliveries at a subscription's sink. For one event loop."""

    async def current(self, subscription: Subscription) -> Plain | Token | None:
        """Return a credential that is good now, refreshed where it has to be; asked before each attempt.

        The same object as long as it is the same credential. What it raises is the reason of a failed attempt.
        """
        ...

    def signing(self, subscription: Subscription) -> tuple[str, ...]:
        """Return the keys that requests are signed with, newest first. It must not block."""
        ...

    def settings(self, subscription: Subscription) -> Mapping[str, Any]:
        """Return the protocol's settings with what is masked elsewhere: the same object while nothing changes."""
        ...

    def invalidate(self, subscription_id: str) -> bool:
        """Take note that the sink refused the credential; tell whether there will be another one."""
        ...

    def for_local_channel(self, subscription: Subscription, uri: str) -> Token | None:
        """Return what the deployment's own channels are shown, where the address is one of the namespace's."""
        ...

    def is_own(self, credential: object) -> bool:
        """Tell whether a credential is that of the deployment itself."""
        ...

    def forget(self, subscription_id: str) -> None:
        """Let go of what was opened for a subscription that ended."""
        ...

    async def close(self) -> None:
        """Finish what is under way."""
        ...


class NoCredentials:
    """Nothing is authorised and nothing signed."""

    async def current(self, subscription: Subscription) -> None:
        """Return none."""

    def signing(self, subscription: Subscription) -> tuple[str, ...]:  # noqa: ARG002
        """Return none."""
        return ()

    def settings(self, subscription: Subscription) -> Mapping[str, Any]:
        """Return what the subscription says."""
        return subscription.protocolsettings

    def invalidate(self, subscription_id: str) -> bool:  # noqa: ARG002
        """Have no other."""
        return False

    def for_local_channel(self, subscription: Subscription, uri: str) -> None:
        """Return none."""

    def is_own(self, credential: object) -> bool:  # noqa: ARG002
        """Have none."""
        return False

    def forget(self, subscription_id: str) -> None:
        """Have nothing to forget."""

    async def close(self) -> None:
        """Have nothing to finish."""

"""What authorises deliveries, ready for use: secrets are opened when they are needed first, tokens refreshed in time.

A token that is about to expire is traded for a new one while deliveries go on with it. What comes back is sealed and
stored before anything else happens to it: the endpoint may accept no older refresh token any more.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headrace.errors import CredentialUnusable, HeadraceError, RefreshFailed
from headrace.secrets.credential import Refreshable, Token
from headrace.secrets.credential_document import is_same, write_time
from headrace.secrets.secrets import put_back

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.delivery.protocols.http.token_endpoint import Refreshed, TokenEndpoint
    from headrace.delivery.sinks.channels import LocalChannels
    from headrace.secrets.credential import Plain
    from headrace.subscriptions.store.secrets import Opened, SecretStore
    from headrace.subscriptions.subscription import Subscription

_log = logging.getLogger(__name__)
_CLAIM_SECONDS = 30.0  # longer than an exchange with the endpoint may take
_LOOK_SECONDS = 0.2
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
_DISTRUST_SECONDS = 60.0
# Of a token's life, this part is left when it is refreshed, where that is less than the setting.
_LAST_PART = 0.25


@dataclass(slots=True)
class _Held:
    """What is known of one subscription; touched on the event loop only."""

    subscription: Subscription
    opened: Opened = field(repr=False)
    settings: Mapping[str, Any] = field(repr=False)
    refresh_at: float = 0.0
    next_try: float = 0.0
    pause: float = _FIRST_PAUSE
    problem: str | None = None
    is_final: bool = False
    spent: Refreshable | None = None
    """The credential that was traded for this one, until this one is stored."""
    distrusted: Token | None = None
    distrusted_at: float = 0.0
    refreshing: asyncio.Task[None] | None = None

    @property
    def refreshable(self) -> Refreshable:
        """The credential, unless its owner gave another kind: who holds the subscription as it was tries again."""
        credential = self.opened.secrets.credential
        if not isinstance(credential, Refreshable):
            raise CredentialUnusable("the subscription's credential was changed at this moment", 0.0)
        return credential

    @property
    def token(self) -> Token:
        """The access token."""
        return self.refreshable.token

    def is_good(self) -> bool:
        """Tell whether the token may be sent."""
        return self.token is not self.distrusted and self.token.expires > time.time()

    def is_due(self) -> bool:
        """Tell whether it is time for a new token, or for storing one."""
        return self.spent is not None or not self.is_good() or time.time() >= self.refresh_at


class Credentials:
    """Belongs to one event loop; the secret store is called in threads. Tokens are refreshed `ahead` seconds early."""

    def __init__(
        self,
        secret_store: SecretStore,
        endpoint: TokenEndpoint,
        ahead: float,
        local_channels: LocalChannels | None = None,
    ) -> None:
        self._secret_store = secret_store
        self._local_channels = local_channels
        self._endpoint = endpoint
        self._ahead = ahead
        self._held: dict[str, _Held] = {}
        self._opening: dict[str, asyncio.Task[_Held]] = {}

    async def current(self, subscription: Subscription) -> Plain | Token | None:
        """Return a credential that is good now: the same object as long as it is the same one.

        CredentialUnusable or SecretsLocked where there is none. Both say why, and neither loses anything.
        """
        if not subscription.has_secrets:
            return None
        held = self._held.get(subscription.id)
        if held is None or held.subscription is not subscription:
            held = await self._open_once(subscription)
        credential = held.opened.secrets.credential
        if isinstance(credential, Refreshable):
            return await self._fresh(held)
        if isinstance(credential, Token) and credential.expires <= time.time():
            raise CredentialUnusable(
                f"the access token expired at {write_time(credential.expires)}: give the subscription a new one",
                _LONGEST_PAUSE,
            )
        return credential

    def signing(self, subscription: Subscription) -> tuple[str, ...]:
        """Return the keys that requests are signed with, newest first; ask for `current` before."""
        held = self._held_for(subscription)
        return held.opened.secrets.signing if held is not None else ()

    def settings(self, subscription: Subscription) -> Mapping[str, Any]:
        """Return the settings as a sender needs them, with what is masked elsewhere; ask for `current` before.

        The same object as long as nothing changes.
        """
        held = self._held_for(subscription)
        return held.settings if held is not None else subscription.protocolsettings

    def _held_for(self, subscription: Subscription) -> _Held | None:
        """Return what is held for exactly this one: secrets of what it was before, or is by now, may be for others."""
        if not subscription.has_secrets:
            return None
        held = self._held.get(subscription.id)
        if held is None or held.subscription is not subscription:
            raise CredentialUnusable("the subscription was changed at this moment", 0.0)
        return held

    def invalidate(self, subscription_id: str) -> bool:
        """Take note that the sink refused the token; tell whether another attempt may fare better, with a new one."""
        held = self._held.get(subscription_id)
        if held is None or not isinstance(held.opened.secrets.credential, Refreshable):
            return False
        if held.token is held.distrusted:
            return not held.is_final
        if held.distrusted_at and time.monotonic() - held.distrusted_at < _DISTRUST_SECONDS:
            return False  # the token that came for the one before is refused as well: it isn't the token
        held.distrusted, held.distrusted_at, held.next_try = held.token, time.monotonic(), 0.0
        return True

    def for_local_channel(self, subscription: Subscription, uri: str) -> Token | None:
        """Return what the deployment's own channels are shown, where the address is one of the namespace's."""
        return None if self._local_channels is None else self._local_channels.token_for(subscription, uri)

    def is_own(self, credential: object) -> bool:
        """Tell whether a credential is that of the deployment itself."""
        return self._local_channels is not None and self._local_channels.is_own(credential)

    def forget(self, subscription_id: str) -> None:
        """Let go of the secrets of a subscription that ended."""
        held = self._held.get(subscription_id)
        if held is not None and held.refreshing is None:
            del self._held[subscription_id]

    async def close(self) -> None:
        """Wait for refreshes under way: what an endpoint has answered has to be stored."""
        under_way = [held.refreshing for held in self._held.values() if held.refreshing is not None]
        await asyncio.gather(*under_way, *self._opening.values(), return_exceptions=True)
        self._held.clear()

    # Opening

    async def _open_once(self, subscription: Subscription) -> _Held:
        opening = self._opening.get(subscription.id)
        if opening is None:
            opening = asyncio.create_task(self._open(subscription))
            self._opening[subscription.id] = opening
            opening.add_done_callback(lambda _: self._opening.pop(subscription.id, None))
        held = await asyncio.shield(opening)
        return held if held.subscription is subscription else await self._open(subscription)

    async def _open(self, subscription: Subscription) -> _Held:
        before = self._held.get(subscription.id)
        if before is not None and before.refreshing is not None:
            await asyncio.wait([before.refreshing])
        opened = await self._unlock(subscription)
        settings = put_back(subscription.protocolsettings, opened.secrets)
        if before is not None and before.opened.version == opened.version:
            before.subscription, before.settings = subscription, settings  # it changed in another respect
            return before
        held = _Held(subscription, opened, settings)
        if isinstance(opened.secrets.credential, Refreshable):
            held.refresh_at = held.token.expires - self._ahead
        self._held[subscription.id] = held
        return held

    async def _unlock(self, subscription: Subscription) -> Opened:
        """Open its secrets, unless they are for another sink than this one: its owner has changed it, and we follow."""
        opened = await asyncio.to_thread(self._secret_store.open, subscription.id)
        if opened.recipient != subscription.recipient:
            raise CredentialUnusable("the subscription was given another sink at this moment", 0.0)
        return opened

    # Refreshing

    async def _fresh(self, held: _Held) -> Token:
        if held.is_due() and time.monotonic() >= held.next_try:
            if held.refreshing is None:
                held.refreshing = asyncio.create_task(self._refresh_and_rest(held))
            if not held.is_good():
                await asyncio.shield(held.refreshing)
        if held.is_good():
            return held.token
        wait = max(held.next_try - time.monotonic(), 0.0)
        raise CredentialUnusable(held.problem or "the token has expired and was not refreshed", wait)

    async def _refresh_and_rest(self, held: _Held) -> None:
        try:
            await self._refresh(held)
        except HeadraceError as error:
            held.problem = str(error)
            held.is_final = isinstance(error, RefreshFailed) and error.is_final
            _log.warning("the token of subscription %s was not refreshed: %s", held.subscription.id, error)
            held.next_try = time.monotonic() + held.pause
            held.pause = min(held.pause * 2, _LONGEST_PAUSE)
        else:
            held.problem, held.is_final, held.pause, held.next_try = None, False, _FIRST_PAUSE, 0.0
        finally:
            held.refreshing = None

    async def _refresh(self, held: _Held) -> None:
        if held.spent is not None:
            await self._save(held, held.spent)
            if not held.is_due():
                return
        await self._look_again(held)
        if not held.is_due():
            return
        if held.is_final:
            raise RefreshFailed(held.problem or "", is_final=True)  # until somebody stores another one
        if not await self._claim(held):
            return
        spent = held.refreshable
        try:
            refreshed = await self._endpoint.refresh(spent)
        except RefreshFailed as failure:
            with suppress(HeadraceError):  # it is told with the attempts too
                await asyncio.to_thread(
                    self._secret_store.report, held.subscription.id, held.opened.version, str(failure)
                )
            raise
        self._take(held, spent, refreshed)
        await self._save(held, spent)

    async def _look_again(self, held: _Held) -> None:
        """Another dispatcher may have refreshed it, or its owner changed it."""
        opened = await self._unlock(held.subscription)
        if opened.version != held.opened.version:
            held.opened, held.is_final = opened, False
            held.refresh_at = held.token.expires - self._ahead

    async def _claim(self, held: _Held) -> bool:
        """Get the right to use the refresh token, or wait for what somebody else gets with it."""
        while True:
            now = time.time()
            if await asyncio.to_thread(
                self._secret_store.claim, held.subscription.id, held.opened.version, now, now + _CLAIM_SECONDS
            ):
                return True
            await asyncio.sleep(_LOOK_SECONDS)
            await self._look_again(held)
            if not held.is_due():
                return False

    def _take(self, held: _Held, spent: Refreshable, refreshed: Refreshed) -> None:
        token = refreshed.credential.token
        held.opened = replace(
            held.opened, secrets=replace(held.opened.secrets, credential=refreshed.credential)
        )
        held.refresh_at = token.expires - min(self._ahead, refreshed.lifetime * _LAST_PART)
        held.spent = spent

    async def _save(self, held: _Held, spent: Refreshable) -> None:
        """Store what the endpoint gave. Until that has worked it is only in memory, and tried again and again.

        The owner may have changed other secrets meanwhile, or given another credential, which then is the one.
        """
        mine = held.refreshable
        await asyncio.to_thread(self._secret_store.renew, held.subscription.id, spent, mine)
        held.opened, held.spent = await self._unlock(held.subscription), None
        if is_same(held.opened.secrets.credential, mine):  # the same object as long as it is the same one
            held.opened = replace(held.opened, secrets=replace(held.opened.secrets, credential=mine))
        else:
            held.refresh_at = held.token.expires - self._ahead

"""Channels, and what routing set aside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.client.session import HttpSession

if TYPE_CHECKING:
    from collections.abc import Mapping


class ChannelCalls(HttpSession):
    """Channels, and what routing set aside."""

    async def create_channel(
        self,
        namespace: str,
        name: str,
        delivery: Mapping[str, Any] | None = None,
        subscriptionconfig: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Create a channel.

        `delivery` is for subscriptions without a delivery object of their own; `subscriptionconfig` declares keys that
        subscriptions may have in their `config`.
        """
        given = {"delivery": delivery, "subscriptionconfig": subscriptionconfig}
        return await self._object("POST", "/api/channels", {"namespace": namespace, "name": name} | given)

    async def change_channel(
        self,
        channel: str,
        delivery: Mapping[str, Any] | None,
        subscriptionconfig: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Replace the delivery object and the declarations of a channel, `namespace/name`; None removes them."""
        given = {"delivery": delivery, "subscriptionconfig": subscriptionconfig}
        return await self._object("PUT", f"/api/channels/{channel}", given)

    async def delete_channel(self, channel: str) -> None:
        """Delete a channel, `namespace/name`, that has no subscriptions."""
        await self._request("DELETE", f"/api/channels/{channel}")

    async def channels(self) -> list[dict[str, Any]]:
        """List the channels."""
        return await self._list("/api/channels")

    async def set_aside(self, limit: int = 100) -> list[dict[str, Any]]:
        """List what routing set aside, the newest first."""
        return await self._list(f"/api/set-aside?limit={limit}")

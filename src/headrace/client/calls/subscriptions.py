"""Subscriptions: one by one, imported and exported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.client.session import NO_TIMEOUT, HttpSession, query

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Mapping


class SubscriptionCalls(HttpSession):
    """Subscriptions: one by one, imported and exported."""

    async def subscribe(self, subscription: Mapping[str, Any]) -> dict[str, Any]:
        """Create a subscription, and return it with its id and defaults."""
        return await self._object("POST", "/subscriptions", subscription)

    async def subscriptions(self, **which: str | None) -> list[dict[str, Any]]:
        """List subscriptions, selected as in `each_subscription`. Be careful: there may be very many."""
        return [each async for each in self.each_subscription(**which)]

    async def each_subscription(
        self, page_size: int = 1000, /, **which: str | None
    ) -> AsyncIterator[dict[str, Any]]:
        """Iterate over subscriptions in the order of their creation, fetching a page at a time.

        `which` are the parameters of the API: `channel`, `namespace`, `sink`, `protocol` and `state`.
        """
        page: str | None = query({**which, "limit": page_size})
        while page is not None:
            answer = await self._exchange("GET", f"/subscriptions?{page}")
            for each in self._read(answer.content, list[dict[str, Any]]):
                yield each
            page = answer.next

    async def subscription(self, subscription_id: str) -> dict[str, Any]:
        """Return one subscription."""
        return await self._object("GET", f"/subscriptions/{subscription_id}")

    async def look_at_subscription(self, subscription_id: str) -> tuple[dict[str, Any], str]:
        """Return one subscription and its current ETag."""
        answer = await self._exchange("GET", f"/subscriptions/{subscription_id}")
        return self._read(answer.content, dict[str, Any]), answer.headers.get("etag", "")

    async def update_subscription(
        self, subscription_id: str, subscription: Mapping[str, Any], etag: str | None = None
    ) -> dict[str, Any]:
        """Replace the whole subscription, and return it with its defaults.

        With an ETag, raise ServiceRefused with status 412 if it was changed since. A masked secret stays, as long as
        the sink has the same host.
        """
        path = f"/subscriptions/{subscription_id}"
        return await self._object("PUT", path, subscription, _if_match(etag))

    async def unsubscribe(self, subscription_id: str, etag: str | None = None) -> dict[str, Any]:
        """Delete a subscription, and return what it was; with an ETag, only if it was not changed since."""
        path = f"/subscriptions/{subscription_id}"
        return await self._object("DELETE", path, headers=_if_match(etag))

    async def import_subscriptions(
        self,
        lines: AsyncIterable[bytes],
        *,
        dry_run: bool = False,
        keep_ids: bool = False,
        skip_faulty: bool = False,
    ) -> dict[str, Any]:
        """Create a subscription from every line of JSON, or none if one is faulty; there is no timeout."""
        flags = {"dryRun": dry_run, "keepIds": keep_ids, "skipFaulty": skip_faulty}
        given = query({name: "true" for name, is_set in flags.items() if is_set})
        headers = [("content-type", "application/x-ndjson")]
        async with self._answer(
            "POST", f"/api/subscriptions/import?{given}", lines, headers, NO_TIMEOUT
        ) as response:
            return self._read(await response.read(), dict[str, Any])

    async def export_subscriptions(self, channel: str | None = None) -> AsyncIterator[bytes]:
        """Iterate over the subscriptions of a channel, or all, as lines of JSON without secrets."""
        path = f"/api/subscriptions/export?{query({'channel': channel})}"
        async with self._answer("GET", path, timeout=NO_TIMEOUT) as response:
            async for line in response.content:
                yield line

    async def pause(self, subscription_id: str) -> dict[str, Any]:
        """Hold the events of a subscription back until it is resumed."""
        return await self._object("POST", f"/api/subscriptions/{subscription_id}/pause")

    async def resume(self, subscription_id: str) -> dict[str, Any]:
        """Resume deliveries, even to a sink that had said it was gone."""
        return await self._object("POST", f"/api/subscriptions/{subscription_id}/resume")


def _if_match(etag: str | None) -> list[tuple[str, str]]:
    return [] if etag is None else [("if-match", etag)]

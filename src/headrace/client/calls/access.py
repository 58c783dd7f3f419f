"""API keys, quotas and the audit log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.client.session import HttpSession, query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class AccessCalls(HttpSession):
    """API keys, quotas and the audit log."""

    async def whoami(self) -> dict[str, Any]:
        """Return the identity and the grants of this client."""
        return await self._object("GET", "/api/whoami")

    async def create_key(
        self, name: str, grants: Mapping[str, Sequence[str]], expires: str | int | None = None
    ) -> dict[str, Any]:
        """Create an API key with roles by namespace; `key` in the answer is shown only once."""
        document = {"name": name, "grants": grants} | ({} if expires is None else {"expires": expires})
        return await self._object("POST", "/api/keys", document)

    async def keys(self) -> list[dict[str, Any]]:
        """List API keys, without their secrets."""
        return await self._list("/api/keys")

    async def revoke_key(self, key_id: str) -> dict[str, Any]:
        """Revoke an API key."""
        return await self._object("DELETE", f"/api/keys/{key_id}")

    async def quotas(self, namespace: str) -> dict[str, Any]:
        """Return the quotas of a namespace, and how much of them it uses."""
        return await self._object("GET", f"/api/quotas/{namespace}")

    async def all_quotas(self) -> dict[str, Any]:
        """Return the default quotas, and those set for namespaces."""
        return await self._object("GET", "/api/quotas")

    async def set_quotas(self, namespace: str, quotas: Mapping[str, Any]) -> dict[str, Any]:
        """Set the quotas of a namespace; for the rest the defaults hold."""
        return await self._object("PUT", f"/api/quotas/{namespace}", quotas)

    async def changes(self, **which: Any) -> dict[str, Any]:
        """Return a page of `changes`, the newest first; `next`, if there is one, is the `cursor` of the next page.

        `which` are the API's parameters: `namespace`, `who`, `kind`, `object`, `since`, `until`, `limit` and `cursor`.
        """
        return await self._object("GET", f"/api/audit?{query(which)}")

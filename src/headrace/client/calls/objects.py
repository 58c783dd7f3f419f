"""Knative's objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from headrace.client.session import HttpSession

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class ObjectCalls(HttpSession):
    """Knative's objects."""

    async def apply(
        self, manifests: Sequence[Mapping[str, Any]], *, namespace: str = "default", dry_run: bool = False
    ) -> list[dict[str, Any]]:
        """Apply manifests, all or none; return the outcome of each."""
        query = urlencode({"namespace": namespace, "dryRun": str(dry_run).lower()})
        answer = await self._object("POST", f"/api/apply?{query}", list(manifests))
        return list(answer["results"])

    async def objects(self, kind: str, namespace: str | None = None) -> list[dict[str, Any]]:
        """List the objects of a kind (`triggers`), in one namespace or in all."""
        query = f"?{urlencode({'namespace': namespace})}" if namespace else ""
        return await self._list(f"/api/objects/{kind}{query}")

    async def object(self, kind: str, namespace: str, name: str) -> dict[str, Any]:
        """Return an object with its status."""
        return await self._object("GET", f"/api/objects/{kind}/{namespace}/{name}")

    async def delete_object(self, kind: str, namespace: str, name: str) -> dict[str, Any]:
        """Delete an object and what was created for it; return what it was."""
        return await self._object("DELETE", f"/api/objects/{kind}/{namespace}/{name}")

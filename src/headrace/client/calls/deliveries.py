"""Attempts, dead letters, redrives and test sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.client.session import HttpSession, query, wait_header
from headrace.events.bindings.http import encode_structured

if TYPE_CHECKING:
    from headrace.events.event import Event


class DeliveryCalls(HttpSession):
    """Attempts, dead letters, redrives and test sends."""

    async def attempts(self, **which: Any) -> dict[str, Any]:
        """Return a page of `attempts`, the newest first; `next`, if there is one, is the `cursor` of the next page.

        `which` are the API's parameters: `subscription`, `channel`, `verdict`, `status`, `stage`, `position`, `since`,
        `until`, `limit` and `cursor`.
        """
        return await self._object("GET", f"/api/attempts?{query(which)}")

    async def attempt(self, attempt_id: int) -> dict[str, Any]:
        """Return one attempt, with the answer of the sink."""
        return await self._object("GET", f"/api/attempts/{attempt_id}")

    async def retry(self, attempt_id: int) -> dict[str, Any]:
        """Deliver an attempt's event again now, and return the redrive."""
        return await self._object("POST", f"/api/attempts/{attempt_id}/retry")

    async def dead_letters(self, **which: Any) -> dict[str, Any]:
        """Return a page of `deadLetters`, the newest first.

        `which` are the API's parameters: `subscription`, `channel`, `since`, `until`, `limit` and `cursor`.
        """
        return await self._object("GET", f"/api/dead-letters?{query(which)}")

    async def redrive(self, *, dry_run: bool = False, **which: Any) -> dict[str, Any]:
        """Start a redrive, and return it with the number of deliveries; a dry run only counts.

        `which` are the API's members: `subscription`, `channel`, `filter`, `state`, `since`, `until` and `rate`.
        """
        members = {name: value for name, value in which.items() if value is not None}
        return await self._object("POST", "/api/redrive", members | {"dryRun": dry_run})

    async def redrives(self) -> list[dict[str, Any]]:
        """List redrives, the newest first."""
        return await self._list("/api/redrives")

    async def find_redrive(self, redrive_id: str, *, wait_seconds: int = 0) -> dict[str, Any]:
        """Return a redrive, once it has ended or the time is up."""
        answer = await self._request("GET", f"/api/redrives/{redrive_id}", headers=wait_header(wait_seconds))
        return self._read(answer, dict[str, Any])

    async def cancel_redrive(self, redrive_id: str) -> dict[str, Any]:
        """Cancel a redrive; what was not redriven yet stays as it is."""
        return await self._object("DELETE", f"/api/redrives/{redrive_id}")

    async def test_send(self, subscription_id: str, event: Event | None = None) -> dict[str, Any]:
        """Send one event, or a sample, to a subscription's sink now, and return the outcome."""
        body = b"" if event is None else encode_structured(event).body
        path = f"/api/subscriptions/{subscription_id}/test"
        headers = [("content-type", "application/json")]
        return self._read(await self._request("POST", path, body, headers), dict[str, Any])

"""Seek, replay and backtest, which are jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from headrace.client.points import PointLike, point
from headrace.client.session import HttpSession, wait_header
from headrace.errors import JobFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class HistoryCalls(HttpSession):
    """Seek, replay and backtest, which are jobs."""

    async def seek(self, subscription_id: str, to: PointLike, *, dry_run: bool = False) -> dict[str, Any]:
        """Continue a subscription from another point, and return the job; `finished` waits for it."""
        document = {"to": point(to), "dryRun": dry_run}
        return await self._object("POST", f"/api/subscriptions/{subscription_id}/seek", document)

    async def replay(
        self,
        subscription_id: str,
        start: PointLike = "earliest",
        end: PointLike | None = None,
        *,
        filter: Any = None,  # noqa: A002  as everywhere
        rate: float | None = None,
    ) -> dict[str, Any]:
        """Deliver past events again, and return the job."""
        members = {
            "from": point(start),
            "to": None if end is None else point(end),
            "filter": filter,
            "rate": rate,
        }
        document = {name: value for name, value in members.items() if value is not None}
        return await self._object("POST", f"/api/subscriptions/{subscription_id}/replay", document)

    async def backtest(self, filters: Any, **options: Any) -> dict[str, Any]:
        """Find out which past events filters would have matched, and return the job.

        `options` are those of the API: `channel`, `examples`, `buckets`, and the times `start` and `end`.
        """
        names = {"start": "from", "end": "to"}
        document = {names.get(name, name): value for name, value in options.items() if value is not None}
        key = "filters" if isinstance(filters, list) else "filter"
        return await self._object("POST", "/api/filters/backtest", {key: filters} | document)

    async def jobs(self, **which: str) -> list[dict[str, Any]]:
        """List jobs, the newest first; `kind` and `subscription` select some."""
        return await self._list(f"/api/jobs?{urlencode(which)}")

    async def job(self, job_id: str, *, wait_seconds: int = 0) -> dict[str, Any]:
        """Return a job, once it has ended or the time is up."""
        return self._read(
            await self._request("GET", f"/api/jobs/{job_id}", headers=wait_header(wait_seconds)),
            dict[str, Any],
        )

    async def cancel_job(self, job_id: str) -> dict[str, Any]:
        """Cancel a job."""
        return await self._object("DELETE", f"/api/jobs/{job_id}")

    async def finished(
        self,
        job: Mapping[str, Any],
        on_progress: Callable[[Mapping[str, Any]], None] = lambda _: None,
    ) -> dict[str, Any]:
        """Wait for a job and return its result, or raise JobFailed; call `on_progress` about every second."""
        while True:
            job = await self.job(job["id"], wait_seconds=1)
            on_progress(job)
            if job["state"] == "done":
                return dict(job["result"])
            if job["state"] in ("failed", "cancelled"):
                raise JobFailed(job)

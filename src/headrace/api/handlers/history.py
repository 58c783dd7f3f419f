"""Seek, replay and backtest: they are stored as jobs, which the pipeline carries out."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

from headrace.api.access.access import access_of
from headrace.api.access.permissions import Target, subscribe
from headrace.api.answers.history import Job as ShownJob
from headrace.api.openapi.operation import JSON, LOCATION, PREFERENCE_APPLIED, Answer, Body
from headrace.api.requests.documents import json_response, read_body, read_document
from headrace.api.requests.prefer import preference_applied, seconds_to_wait, wait_until
from headrace.api.requests.threads import compute
from headrace.api.routes.parameters import one_of, text
from headrace.api.routes.shared_parameters import PREFER
from headrace.api.routes.tags import FILTERS, HISTORY
from headrace.errors import UnsupportedFormat
from headrace.filters.message import Version, decode_seek, to_json
from headrace.jobs.job import Job
from headrace.jobs.requests import (
    BACKTEST,
    BACKTEST_FORM,
    KINDS,
    REPLAY,
    REPLAY_FORM,
    SEEK,
    SEEK_FORM,
    parse_backtest,
    parse_replay,
    parse_seek,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.jobs.jobs import Jobs
    from headrace.jobs.replays import Replays
    from headrace.subscriptions.store.store import Store

_PROTOBUF = ("application/protobuf", "application/x-protobuf")
_VERSION = re.compile(r";\s*version\s*=\s*\"?([0-9]+)\"?")
_MOST_LISTED = 1000
_KIND = one_of("kind", KINDS, "Of this kind.")
_SUBSCRIPTION = text("subscription", "For this subscription.")
_LINKS = {"look": "showJob", "cancel": "cancelJob"}
_BEGUN = {
    200: Answer("The job, which has ended.", ShownJob, (PREFERENCE_APPLIED, LOCATION), _LINKS),
    202: Answer("The job, which waits or runs.", ShownJob, (PREFERENCE_APPLIED, LOCATION), _LINKS),
}
_SEEK_BODY = Body({JSON: SEEK_FORM.schema, _PROTOBUF[0]: {"description": "The message `CommandSeek`."}})


class HistoryHandler:
    """The database's calls block, so they run in threads."""

    def __init__(self, store: Store, jobs: Jobs, replays: Replays) -> None:
        self._store = store
        self._jobs = jobs
        self._replays = replays

    @HISTORY.route(
        "POST /api/subscriptions/{id}/seek",
        subscribe(Target.SUBSCRIPTION),
        _BEGUN,
        records="seek",
        parameters=(PREFER,),
        body=_SEEK_BODY,
    )
    async def seek(self, request: Request) -> Response:
        """Continue a subscription from another point of the history."""
        subscription = await asyncio.to_thread(self._store.get, request.path_params["id"])
        wanted = await compute(parse_seek, await _seek_document(request))
        return await self._submit(
            request, Job(SEEK, wanted.document(), subscription.id, namespace=subscription.channel.namespace)
        )

    @HISTORY.route(
        "POST /api/subscriptions/{id}/replay",
        subscribe(Target.SUBSCRIPTION),
        _BEGUN,
        records="replay",
        parameters=(PREFER,),
        body=Body(REPLAY_FORM.schema),
    )
    async def replay(self, request: Request) -> Response:
        """Deliver past events to a subscription again."""
        subscription = await asyncio.to_thread(self._store.get, request.path_params["id"])
        wanted = await compute(parse_replay, await read_document(request))
        return await self._submit(
            request, Job(REPLAY, wanted.document(), subscription.id, namespace=subscription.channel.namespace)
        )

    @FILTERS.route(
        "POST /api/filters/backtest",
        subscribe(Target.HANDLER),
        _BEGUN,
        records="backtest",
        parameters=(PREFER,),
        body=Body(BACKTEST_FORM.schema),
        problems={404},
    )
    async def backtest(self, request: Request) -> Response:
        """Find out which past events a filter would have matched."""
        wanted = await compute(parse_backtest, await read_document(request))
        access_of(request).require(wanted.channel.namespace)
        await asyncio.to_thread(
            self._store.channel, wanted.channel
        )  # a misspelt channel is an error, not empty
        return await self._submit(
            request, Job(BACKTEST, wanted.document(), namespace=wanted.channel.namespace)
        )

    @HISTORY.route(
        "GET /api/jobs",
        subscribe(Target.HANDLER),
        Answer("Jobs, at most a thousand.", list[ShownJob]),
        parameters=(_KIND, _SUBSCRIPTION),
    )
    async def list_jobs(self, request: Request) -> Response:
        """List jobs, the newest first."""
        jobs = await asyncio.to_thread(
            self._jobs.list,
            kind=_KIND.of(request),
            subscription=_SUBSCRIPTION.of(request),
            namespaces=access_of(request).namespaces,
            limit=_MOST_LISTED,
        )
        return json_response([await self._shown(job) for job in jobs])

    @HISTORY.route(
        "GET /api/jobs/{id}",
        subscribe(Target.JOB),
        Answer("The job.", ShownJob, (PREFERENCE_APPLIED,)),
        parameters=(PREFER,),
    )
    async def show_job(self, request: Request) -> Response:
        """Show a job; on request when it has ended."""
        job = await asyncio.to_thread(self._jobs.get, request.path_params["id"])
        job = await self._await_end(request, job)
        return json_response(await self._shown(job), headers=preference_applied(request))

    @HISTORY.route(
        "DELETE /api/jobs/{id}",
        subscribe(Target.JOB),
        Answer("The job.", ShownJob),
        records="job",
        problems={409},
    )
    async def cancel_job(self, request: Request) -> Response:
        """Cancel a job."""
        along = access_of(request).along()
        job = await asyncio.to_thread(self._jobs.cancel, request.path_params["id"], along)
        return json_response(await self._shown(job))

    async def _submit(self, request: Request, job: Job) -> Response:
        await asyncio.to_thread(self._jobs.add, job, access_of(request).along(job.id))
        job = await self._await_end(request, job)
        headers = {"location": f"/api/jobs/{job.id}"} | preference_applied(request)
        return json_response(await self._shown(job), 200 if job.state.is_end else 202, headers)

    async def _await_end(self, request: Request, job: Job) -> Job:
        def look() -> Awaitable[Job]:
            return asyncio.to_thread(self._jobs.get, job.id)

        return await wait_until(request, lambda seen: seen.state.is_end, look, job, seconds_to_wait(request))

    async def _shown(self, job: Job) -> dict[str, Any]:
        """Show a job; the progress of a running replay is that of its deliveries."""
        shown = job.document()
        replay = None if job.state.is_end else await asyncio.to_thread(self._replays.find, job.id)
        if replay is not None:
            settled = replay.delivered + replay.dead
            shown["note"] = f"{replay.delivered} of {replay.found} events found so far are delivered"
            if replay.found:
                shown["progress"] = job.progress * settled / replay.found
        return shown


async def _seek_document(request: Request) -> Any:
    """Read a request to seek, which may be JSON or the protobuf message `CommandSeek`."""
    content_type = request.headers.get("content-type", "application/json")
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type not in (*_PROTOBUF, "application/json"):
        raise UnsupportedFormat(content_type, ["application/json", _PROTOBUF[0]])
    if media_type not in _PROTOBUF:
        return await read_document(request)
    command = await compute(decode_seek, await read_body(request), _version(content_type))
    conditions = {
        "position": command.position,
        "time": command.publish_time,
        "filter": None if command.expression is None else {"message": to_json(command.expression)},
    }
    point = {name: value for name, value in conditions.items() if value is not None}
    return {"to": point, "consumerId": command.consumer_id, "requestId": command.request_id}


def _version(content_type: str) -> Version:
    found = _VERSION.search(content_type)
    number = int(found[1]) if found else Version.REVISED.value
    if number not in {version.value for version in Version}:
        raise UnsupportedFormat(content_type, [f"{_PROTOBUF[0]}; version={each.value}" for each in Version])
    return Version(number)

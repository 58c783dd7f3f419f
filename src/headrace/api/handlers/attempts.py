"""Delivery attempts, dead letters and redrives.

Nothing is redriven here: a redrive is stored, and the dispatchers carry it out.
"""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.api.access.access import access_of
from headrace.api.access.owners import SubscriptionOwners
from headrace.api.access.permissions import Target, subscribe
from headrace.api.answers.deliveries import AttemptPage, DeadLetterPage, DryRedrive, WholeAttempt
from headrace.api.answers.deliveries import Redrive as ShownRedrive
from headrace.api.openapi.operation import LOCATION, PREFERENCE_APPLIED, Answer, Body
from headrace.api.requests.documents import json_response, read_document
from headrace.api.requests.prefer import preference_applied, seconds_to_wait, wait_until
from headrace.api.requests.threads import compute
from headrace.api.routes.parameters import Parameters, cursor, one_of, position, statuses, write_cursor
from headrace.api.routes.shared_parameters import CHANNEL, LIMIT, PREFER, SINCE, SUBSCRIPTION, UNTIL
from headrace.api.routes.tags import DELIVERIES
from headrace.database.work_queue import State
from headrace.errors import InvalidRequest, NotFound
from headrace.eventlog.lookup import read_events_at
from headrace.ledger.records.attempts import VERDICTS, AttemptQuery
from headrace.ledger.records.dead_letters import DeadQuery
from headrace.ledger.redrives.redrive import (
    REDRIVE_FORM,
    Delivered,
    Redrive,
    RedriveRequest,
    parse_redrive,
)
from headrace.ledger.redrives.selection import Selection
from headrace.ledger.stages import STAGES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.api.access.access import Access
    from headrace.eventlog.log import LogReader
    from headrace.ledger.records.records import Records
    from headrace.subscriptions.channels.name import ChannelName
    from headrace.subscriptions.store.store import Store

# Databases bound the parameters of a statement.
_MOST_LISTENERS = 5000
_VERDICT = one_of("verdict", VERDICTS, "")
_STATUS = statuses("status", "A status such as 503, or a class such as 5xx.")
_STAGE = one_of("stage", STAGES, "")
_POSITION = position("position", "")
_CURSOR = cursor(float, int)
_DEAD_CURSOR = cursor(float, str, str, str, int)
_ATTEMPTS = (SUBSCRIPTION, CHANNEL, _VERDICT, _STATUS, _STAGE, _POSITION, SINCE, UNTIL, LIMIT, _CURSOR)
_DEAD_LETTERS = (SUBSCRIPTION, CHANNEL, SINCE, UNTIL, LIMIT, _DEAD_CURSOR)
_BEGUN = (PREFERENCE_APPLIED, LOCATION)
_RUNS = "The redrive, which runs."


class AttemptsHandler:
    """The databases' calls block, so they run in threads."""

    def __init__(
        self, store: Store, records: Records, log: LogReader, owners: SubscriptionOwners | None = None
    ) -> None:
        self._store = store
        self._records = records
        self._owners = owners or SubscriptionOwners(store, records)
        self._log = log
        self._reading = threading.Lock()  # a reader of the log is for one thread at a time

    @DELIVERIES.route(
        "GET /api/attempts", subscribe(Target.HANDLER), Answer("A page.", AttemptPage), parameters=_ATTEMPTS
    )
    async def list_attempts(self, request: Request) -> Response:
        """List attempts, the newest first."""
        given = Parameters(request, _ATTEMPTS)
        channel, limit = given.read(CHANNEL), given.read(LIMIT)
        query = AttemptQuery(
            verdict=given.read(_VERDICT),
            statuses=given.read(_STATUS),
            stage=given.read(_STAGE),
            position=given.read(_POSITION),
            since=given.read(SINCE),
            until=given.read(UNTIL),
            before=given.read(_CURSOR),
            limit=limit,
        )
        given.check()
        _check_channel(request, channel)
        among = await asyncio.to_thread(self._among, given.read(SUBSCRIPTION), channel)
        seen = await self._seen(request)
        found = await asyncio.to_thread(
            self._records.attempts, replace(query, subscriptions=among, namespaces=seen)
        )
        shown: dict[str, Any] = {"attempts": [each.document() for each in found]}
        if len(found) == limit:
            shown["next"] = write_cursor((found[-1].attempt.time, found[-1].id))
        return json_response(shown)

    @DELIVERIES.route(
        "GET /api/attempts/{id}", subscribe(Target.ATTEMPT), Answer("The attempt.", WholeAttempt)
    )
    async def show_attempt(self, request: Request) -> Response:
        """Show one attempt, with what the sink answered."""
        found = await asyncio.to_thread(self._records.attempt, attempt_number(request.path_params["id"]))
        return json_response(found.document(whole=True))

    @DELIVERIES.route(
        "GET /api/dead-letters",
        subscribe(Target.HANDLER),
        Answer("A page.", DeadLetterPage),
        parameters=_DEAD_LETTERS,
    )
    async def list_dead_letters(self, request: Request) -> Response:
        """List what was given up, the newest first."""
        given = Parameters(request, _DEAD_LETTERS)
        channel, limit = given.read(CHANNEL), given.read(LIMIT)
        query = DeadQuery(
            since=given.read(SINCE),
            until=given.read(UNTIL),
            after=given.read(_DEAD_CURSOR),
            limit=limit,
        )
        given.check()
        _check_channel(request, channel)
        among = await asyncio.to_thread(self._among, given.read(SUBSCRIPTION), channel)
        seen = await self._seen(request)
        found = await asyncio.to_thread(
            self._records.dead_letters, replace(query, subscriptions=among, namespaces=seen)
        )
        shown: dict[str, Any] = {"deadLetters": [each.document() for each in found]}
        if len(found) == limit:
            shown["next"] = write_cursor(found[-1].place)
        return json_response(shown)

    async def _seen(self, request: Request) -> frozenset[str] | None:
        """Return the caller's namespaces, None for all, once the ledger knows the owners of subscriptions."""
        seen = access_of(request).namespaces
        if seen is not None:
            await self._owners.refresh()
        return seen

    def _among(self, subscription: str | None, channel: ChannelName | None) -> Sequence[str] | None:
        """Return the ids of the requested subscriptions; None for all."""
        if channel is None:
            return None if subscription is None else [subscription]
        if subscription is not None:
            return [subscription] if self._store.listens(subscription, channel) else []
        listeners = self._store.listeners(channel, _MOST_LISTENERS + 1)
        if len(listeners) > _MOST_LISTENERS:
            problem = f"{channel} has more than {_MOST_LISTENERS} subscriptions; name one with subscription"
            raise InvalidRequest([("channel", problem)])
        return listeners

    # Redrives

    @DELIVERIES.route(
        "POST /api/attempts/{id}/retry",
        subscribe(Target.ATTEMPT),
        {
            200: Answer("The redrive, which has ended.", ShownRedrive, _BEGUN),
            202: Answer(_RUNS, ShownRedrive, _BEGUN),
        },
        records="redrive",
        parameters=(PREFER,),
    )
    async def retry_attempt(self, request: Request) -> Response:
        """Deliver an attempt's event to its subscription again, now."""
        tried = (
            await asyncio.to_thread(self._records.attempt, attempt_number(request.path_params["id"]))
        ).attempt
        found = await asyncio.to_thread(self._store.get, tried.subscription)
        only = Delivered(tried.subscription, tried.position, tried.replay)
        wanted = RedriveRequest(subscription=tried.subscription)
        redrive = Redrive(wanted, 1, only, namespace=found.channel.namespace)
        return await self._begin(request, redrive)

    @DELIVERIES.route(
        "POST /api/redrive",
        subscribe(Target.HANDLER),
        {
            200: Answer(
                "The redrive, which has ended; in a dry run, what it would find.",
                ShownRedrive | DryRedrive,
                (PREFERENCE_APPLIED,),
            ),
            202: Answer(_RUNS, ShownRedrive, _BEGUN, {"look": "showRedrive", "cancel": "cancelRedrive"}),
        },
        records="redrive",
        parameters=(PREFER,),
        body=Body(REDRIVE_FORM.schema),
        problems={404},
    )
    async def redrive(self, request: Request) -> Response:
        """Count what a redrive would move; unless it is a dry run, begin with it."""
        wanted, dry_run = await compute(parse_redrive, await read_document(request))
        wanted = _narrowed(wanted, access_of(request))
        redrive = await asyncio.to_thread(self._counted, wanted, access_of(request))
        if dry_run:
            found: DryRedrive = {"request": wanted.document(), "found": redrive.found, "dryRun": True}
            return json_response(found)
        return await self._begin(request, redrive)

    def _counted(self, wanted: RedriveRequest, access: Access) -> Redrive:
        namespace = wanted.namespace if wanted.channel is None else wanted.channel.namespace
        if wanted.subscription is not None:
            namespace = self._store.get(wanted.subscription).channel.namespace
            if not access.sees(namespace):
                raise NotFound("subscription", wanted.subscription)
        if wanted.channel is not None and wanted.channel not in self._store.channels():
            raise NotFound("channel", str(wanted.channel))
        asked = time.time()

        def is_wanted(subscription: str) -> bool:
            return self._store.listens(subscription, wanted.channel, wanted.namespace)

        selection = Selection(wanted, is_wanted, partial(read_events_at, self._log), asked)
        with self._reading:
            found = self._records.count(selection)
        return Redrive(wanted, found, asked=asked, namespace=namespace)

    async def _begin(self, request: Request, redrive: Redrive) -> Response:
        await asyncio.to_thread(self._records.redrives.add, redrive)
        redrive = await self._await_end(request, redrive)
        headers = {"location": f"/api/redrives/{redrive.id}"} | preference_applied(request)
        status = 202 if redrive.state is State.RUNNING else 200
        return json_response(redrive.document(), status, headers)

    @DELIVERIES.route(
        "GET /api/redrives",
        subscribe(Target.HANDLER),
        Answer("Redrives, at most a thousand.", list[ShownRedrive]),
    )
    async def list_redrives(self, request: Request) -> Response:
        """List redrives, the newest first."""
        seen = access_of(request).namespaces
        found = await asyncio.to_thread(self._records.redrives.list, namespaces=seen)
        return json_response([each.document() for each in found])

    @DELIVERIES.route(
        "GET /api/redrives/{id}",
        subscribe(Target.REDRIVE),
        Answer("The redrive.", ShownRedrive, (PREFERENCE_APPLIED,)),
        parameters=(PREFER,),
    )
    async def show_redrive(self, request: Request) -> Response:
        """Show a redrive; on request when it has ended."""
        found = await asyncio.to_thread(self._records.redrives.get, request.path_params["id"])
        found = await self._await_end(request, found)
        return json_response(found.document(), headers=preference_applied(request))

    @DELIVERIES.route(
        "DELETE /api/redrives/{id}",
        subscribe(Target.REDRIVE),
        Answer("The redrive.", ShownRedrive),
        records="redrive",
        problems={409},
    )
    async def cancel_redrive(self, request: Request) -> Response:
        """Cancel a redrive; what has not moved stays where it is."""
        ended = await asyncio.to_thread(self._records.redrives.cancel, request.path_params["id"])
        return json_response(ended.document())

    async def _await_end(self, request: Request, redrive: Redrive) -> Redrive:
        def look() -> Awaitable[Redrive]:
            return asyncio.to_thread(self._records.redrives.get, redrive.id)

        seconds = seconds_to_wait(request)
        return await wait_until(request, lambda seen: seen.state is not State.RUNNING, look, redrive, seconds)


def _check_channel(request: Request, channel: ChannelName | None) -> None:
    """Refuse a channel of another tenant before anything is counted in it."""
    if channel is not None:
        access_of(request).require(channel.namespace)


def _narrowed(wanted: RedriveRequest, access: Access) -> RedriveRequest:
    """Restrict a redrive to what the caller may see: one that names nothing is about the caller's one namespace."""
    for namespace in (wanted.namespace, wanted.channel.namespace if wanted.channel else None):
        if namespace is not None:
            access.require(namespace)
    seen = access.namespaces
    if seen is None or wanted.subscription or wanted.channel or wanted.namespace:
        return wanted
    if len(seen) > 1:
        raise InvalidRequest([("namespace", f"say which: {', '.join(sorted(seen))}")])
    return replace(wanted, namespace=next(iter(seen)))


def attempt_number(text: str) -> int:
    """Parse the id of an attempt; NotFound if it can't be one."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise NotFound("attempt", text)
    return int(text)

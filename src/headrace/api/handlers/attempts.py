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
from headrace.api.requests.documents import json_response, read_document
from headrace.api.requests.parameters import Parameters, write_cursor
from headrace.api.requests.prefer import preference_applied, seconds_to_wait, wait_until
from headrace.api.requests.threads import compute
from headrace.errors import InvalidRequest, NotFound
from headrace.eventlog.lookup import read_events_at
from headrace.ledger.records.attempts import VERDICTS, AttemptQuery
from headrace.ledger.records.dead_letters import DeadQuery
from headrace.ledger.redrives.redrive import Delivered, Redrive, RedriveRequest, State, parse_redrive
from headrace.ledger.redrives.selection import Selection
from headrace.ledger.stages import STAGES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.api.access.access import Access
    from headrace.api.handlers.handler import Routes
    from headrace.eventlog.log import LogReader
    from headrace.ledger.records.records import Records
    from headrace.subscriptions.channels.name import ChannelName
    from headrace.subscriptions.store.store import Store

_SHOWN, _MOST_SHOWN = 100, 1000
_MOST_REDRIVES = 1000
# Databases bound the parameters of a statement.
_MOST_LISTENERS = 5000
_ATTEMPTS = (
    "subscription", "channel", "verdict", "status", "stage", "position", "since", "until", "limit", "cursor",
)  # fmt: skip
_DEAD_LETTERS = ("subscription", "channel", "since", "until", "limit", "cursor")


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

    def routes(self) -> Routes:
        """Return the endpoints by path and method."""
        return {
            "/api/attempts": {"GET": self.attempts},
            "/api/attempts/{id}": {"GET": self.attempt},
            "/api/attempts/{id}/retry": {"POST": self.retry},
            "/api/dead-letters": {"GET": self.dead_letters},
            "/api/redrive": {"POST": self.start},
            "/api/redrives": {"GET": self.redrives},
            "/api/redrives/{id}": {"GET": self.redrive, "DELETE": self.cancel},
        }

    async def attempts(self, request: Request) -> Response:
        """List attempts, the newest first; `next` is the cursor of the next page."""
        given = Parameters(request, _ATTEMPTS)
        channel, limit = given.channel("channel"), given.number("limit", 1, _MOST_SHOWN) or _SHOWN
        query = AttemptQuery(
            verdict=given.one_of("verdict", VERDICTS),
            statuses=given.statuses("status"),
            stage=given.one_of("stage", STAGES),
            position=given.position("position"),
            since=given.seconds("since"),
            until=given.seconds("until"),
            before=given.cursor("cursor", (float, int)),
            limit=limit,
        )
        given.check()
        _check_channel(request, channel)
        among = await asyncio.to_thread(self._among, given.text("subscription"), channel)
        seen = await self._seen(request)
        found = await asyncio.to_thread(
            self._records.attempts, replace(query, subscriptions=among, namespaces=seen)
        )
        shown: dict[str, Any] = {"attempts": [each.document() for each in found]}
        if len(found) == limit:
            shown["next"] = write_cursor((found[-1].attempt.time, found[-1].id))
        return json_response(shown)

    async def attempt(self, request: Request) -> Response:
        """Show one attempt, with what the sink answered."""
        found = await asyncio.to_thread(self._records.attempt, attempt_number(request.path_params["id"]))
        return json_response(found.document(whole=True))

    async def dead_letters(self, request: Request) -> Response:
        """List dead letters, the newest first; `next` is the cursor of the next page."""
        given = Parameters(request, _DEAD_LETTERS)
        channel, limit = given.channel("channel"), given.number("limit", 1, _MOST_SHOWN) or _SHOWN
        query = DeadQuery(
            since=given.seconds("since"),
            until=given.seconds("until"),
            after=given.cursor("cursor", (float, str, str, str, int)),
            limit=limit,
        )
        given.check()
        _check_channel(request, channel)
        among = await asyncio.to_thread(self._among, given.text("subscription"), channel)
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

    async def retry(self, request: Request) -> Response:
        """Deliver an attempt's event to its subscription again, now."""
        tried = (
            await asyncio.to_thread(self._records.attempt, attempt_number(request.path_params["id"]))
        ).attempt
        found = await asyncio.to_thread(self._store.get, tried.subscription)
        only = Delivered(tried.subscription, tried.position, tried.replay)
        wanted = RedriveRequest(subscription=tried.subscription)
        redrive = Redrive(wanted, 1, only, namespace=found.channel.namespace)
        return await self._begin(request, redrive)

    async def start(self, request: Request) -> Response:
        """Count what a redrive would deliver again; unless it is a dry run, start it."""
        wanted, dry_run = await compute(parse_redrive, await read_document(request))
        wanted = _narrowed(wanted, access_of(request))
        redrive = await asyncio.to_thread(self._counted, wanted, access_of(request))
        if dry_run:
            return json_response({"request": wanted.document(), "found": redrive.found, "dryRun": True})
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
        await asyncio.to_thread(self._records.add_redrive, redrive)
        redrive = await self._await_end(request, redrive)
        headers = {"location": f"/api/redrives/{redrive.id}"} | preference_applied(request)
        status = 202 if redrive.state is State.RUNNING else 200
        return json_response(redrive.document(), status, headers)

    async def redrives(self, request: Request) -> Response:
        """List redrives, the newest first."""
        seen = access_of(request).namespaces
        found = await asyncio.to_thread(self._records.redrives, _MOST_REDRIVES, seen)
        return json_response([each.document() for each in found])

    async def redrive(self, request: Request) -> Response:
        """Show a redrive; with `Prefer: wait=…`, wait for its end."""
        found = await asyncio.to_thread(self._records.redrive, request.path_params["id"])
        found = await self._await_end(request, found)
        return json_response(found.document(), headers=preference_applied(request))

    async def cancel(self, request: Request) -> Response:
        """Cancel a redrive; what was not redriven yet stays as it is."""
        ended = await asyncio.to_thread(self._records.cancel_redrive, request.path_params["id"])
        return json_response(ended.document())

    async def _await_end(self, request: Request, redrive: Redrive) -> Redrive:
        def look() -> Awaitable[Redrive]:
            return asyncio.to_thread(self._records.redrive, redrive.id)

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

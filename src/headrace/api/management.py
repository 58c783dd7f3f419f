"""The control API: subscriptions and channels."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from headrace.api.documents import json_response, read_document
from headrace.api.parameters import parse_limit
from headrace.api.problems import MEDIA_TYPE, body_of, headers_of, problem, status_of
from headrace.errors import HeadraceError, InvalidChannel, InvalidSubscription, NotFound
from headrace.filters import compile_filter
from headrace.jobs.job import Job
from headrace.jobs.requests import CATCH_UP, ReplayRequest
from headrace.subscriptions.channel import ChannelName
from headrace.subscriptions.channel_document import parse_channel_document
from headrace.subscriptions.points import LATEST, Point
from headrace.subscriptions.secret_changes import changed
from headrace.subscriptions.secrets import makes_keys, with_made_keys
from headrace.subscriptions.subscription import parse_subscription

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from sqlalchemy import Connection
    from starlette.requests import Request

    from headrace.api.channels import KnownChannels
    from headrace.api.documents import Handler
    from headrace.events.positions import Cut
    from headrace.jobs.jobs import Jobs
    from headrace.ledger.records import Records
    from headrace.ledger.status import DeliveryStatus
    from headrace.subscriptions.safe import CredentialStatus, Safe
    from headrace.subscriptions.status import FilterStatus
    from headrace.subscriptions.store import Store
    from headrace.subscriptions.subscription import Subscription

_SHOWN, _MOST_SHOWN = 100, 10_000


class Management:
    """The handlers. The store's calls block, so they run in threads."""

    def __init__(
        self,
        store: Store,
        channels: KnownChannels,
        end_of_log: Callable[[], Cut],
        jobs: Jobs,
        safe: Safe,
        records: Records,
    ) -> None:
        self._store = store
        self._channels = channels
        self._end_of_log = end_of_log
        self._jobs = jobs
        self._safe = safe
        self._records = records

    def served(self) -> dict[str, dict[str, Handler]]:
        """List what is served, and by which methods."""
        return {
            "/subscriptions": {"GET": self.subscriptions, "POST": self.subscribe},
            "/subscriptions/{id}": {"GET": self.subscription, "DELETE": self.unsubscribe},
            "/subscriptions/{id}/secrets": {"PUT": self.change_secrets},
            "/api/subscriptions/{id}/pause": {"POST": self.pause},
            "/api/subscriptions/{id}/resume": {"POST": self.resume},
            "/api/channels": {"GET": self.list_channels, "POST": self.create_channel},
            "/api/channels/{namespace}/{name}": {
                "GET": self.channel,
                "PUT": self.change_channel,
                "DELETE": self.delete_channel,
            },
            "/api/set-aside": {"GET": self.set_aside},
        }

    async def subscribe(self, request: Request) -> Response:
        """Create a subscription; it sees the events accepted from now on."""
        document = await read_document(request, InvalidSubscription([("", "the body is not JSON")]))
        proposal, made = parse_subscription(document), makes_keys(document.get("protocolsettings", {}))
        created = await asyncio.to_thread(self._create, proposal)
        shown = with_made_keys(_with_notes(created), proposal.secrets, made=made)
        return json_response(shown, 201, {"location": f"/subscriptions/{created.id}"})

    def _create(self, proposal: Subscription) -> Subscription:
        """Add it, together with the job that brings what it wants of the past."""
        seal = self._safe.writing(proposal)
        if proposal.start == Point(edge=LATEST):
            return self._store.create(proposal, self._end_of_log, seal)
        catch_up = Job(CATCH_UP, ReplayRequest(proposal.start).document(), proposal.id)

        def also(connection: Connection) -> None:
            seal(connection)
            self._jobs.add(catch_up, connection)

        return self._store.create(proposal, self._end_of_log, also)

    async def subscriptions(self, _: Request) -> Response:
        """List all subscriptions."""
        found = await asyncio.to_thread(self._store.subscriptions)
        overruns = await asyncio.to_thread(self._store.overruns)
        credentials = await asyncio.to_thread(self._safe.statuses)
        fare = await asyncio.to_thread(self._records.statuses)
        shown = [
            _with_status(
                each, each.document(), overruns.get(each.id), credentials.get(each.id), fare.get(each.id)
            )
            for each in found
        ]
        return json_response(shown)

    async def subscription(self, request: Request) -> Response:
        """Show one subscription."""
        found = await asyncio.to_thread(self._store.get, request.path_params["id"])
        return json_response(await self._shown(found))

    async def pause(self, request: Request) -> Response:
        """Let a subscription's events wait until it is resumed."""
        paused = await asyncio.to_thread(self._store.pause, request.path_params["id"])
        return json_response(await self._shown(paused))

    async def resume(self, request: Request) -> Response:
        """Deliver again, also where the sink had said that it is gone."""
        resumed = await asyncio.to_thread(self._store.resume, request.path_params["id"])
        return json_response(await self._shown(resumed))

    async def _shown(self, found: Subscription) -> dict[str, Any]:
        overruns = await asyncio.to_thread(self._store.overruns, found.id)
        credentials = await asyncio.to_thread(self._safe.statuses, found.id)
        fare = await asyncio.to_thread(self._records.statuses, found.id)
        return _with_status(
            found, _with_notes(found), overruns.get(found.id), credentials.get(found.id), fare.get(found.id)
        )

    async def unsubscribe(self, request: Request) -> Response:
        """End a subscription and show what it was."""
        ended = await asyncio.to_thread(self._store.delete, request.path_params["id"], self._end_of_log)
        return json_response(ended.document())

    async def change_secrets(self, request: Request) -> Response:
        """Give a subscription other secrets; what is under way goes on with the old ones."""
        change = await read_document(request, InvalidSubscription([("", "the body is not JSON")]))
        done = await asyncio.to_thread(
            self._safe.change, request.path_params["id"], lambda old, secrets: changed(old, secrets, change)
        )
        return json_response(with_made_keys(_with_notes(done), done.secrets, made=makes_keys(change)))

    async def create_channel(self, request: Request) -> Response:
        """Make a channel."""
        document = await read_document(request, InvalidChannel("the body is not JSON"))
        channel, delivery = parse_channel_document(document)
        await asyncio.to_thread(self._store.create_channel, channel, delivery)
        await self._channels.refresh()
        shown = _channel_document(channel, request, delivery)
        return json_response(shown, 201, {"location": f"/api/channels/{channel}"})

    async def change_channel(self, request: Request) -> Response:
        """Give a channel another delivery object; a document without one takes it away."""
        document = await read_document(request, InvalidChannel("the body is not JSON"))
        channel = _channel_of(request)
        _, delivery = parse_channel_document(document, channel)
        await asyncio.to_thread(self._store.change_channel, channel, delivery)
        return json_response(_channel_document(channel, request, delivery))

    async def list_channels(self, request: Request) -> Response:
        """List all channels."""
        found = await asyncio.to_thread(self._store.channels)
        deliveries = await asyncio.to_thread(self._store.channel_deliveries)
        return json_response([_channel_document(each, request, deliveries.get(each)) for each in found])

    async def channel(self, request: Request) -> Response:
        """Show one channel."""
        channel = _channel_of(request)
        await self._channels.refresh()
        if channel not in self._channels:
            raise NotFound("channel", str(channel))
        deliveries = await asyncio.to_thread(self._store.channel_deliveries)
        return json_response(_channel_document(channel, request, deliveries.get(channel)))

    async def delete_channel(self, request: Request) -> Response:
        """Remove a channel that nobody listens to."""
        await asyncio.to_thread(self._store.delete_channel, _channel_of(request))
        await self._channels.refresh()
        return Response(status_code=204)

    async def set_aside(self, request: Request) -> Response:
        """List what routing went on without, the newest first."""
        limit = parse_limit(request.query_params.get("limit"), _SHOWN, _MOST_SHOWN)
        found = await asyncio.to_thread(self._store.what_is_set_aside, limit)
        return json_response([each.document() for each in found])


async def on_error(_: Request, error: Exception) -> Response:
    """Answer an error that Headrace raised on purpose."""
    assert isinstance(error, HeadraceError)  # noqa: S101  it is registered for these only
    return Response(body_of(error), status_of(error), headers_of(error), MEDIA_TYPE)


def on_status(status: int, code: str, detail: str) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Make the handler for an error of the framework itself."""

    async def answer(request: Request, error: Exception) -> Response:
        headers = getattr(error, "headers", None)
        body = problem(status, code, detail.format(path=request.url.path, method=request.method))
        return Response(body, status, headers, MEDIA_TYPE)

    return answer


def _with_notes(subscription: Subscription) -> dict[str, Any]:
    """Show a subscription, and what its author should know about the way its filters are written."""
    notes = compile_filter(subscription.filters).notes
    return subscription.document() | ({"notes": list(notes)} if notes else {})


def _with_status(
    subscription: Subscription,
    document: dict[str, Any],
    filter_: FilterStatus | None,
    credential: CredentialStatus | None,
    fare: DeliveryStatus | None,
) -> dict[str, Any]:
    """Add what there is to tell of a subscription; of a new one that is nothing."""
    status: dict[str, Any] = {} if filter_ is None else {"filter": filter_}
    if credential is not None:
        document["sinkCredential"]["accessTokenExpiresUtc"] = credential.expires
        if credential.problem is not None:
            status["credential"] = {"problem": credential.problem, "time": credential.time}
    if fare is not None or subscription.paused or subscription.ended is not None:
        status["delivery"] = _state(subscription) | (fare.document() if fare is not None else {})
    return document | ({"status": status} if status else {})


def _state(subscription: Subscription) -> dict[str, Any]:
    if subscription.ended is not None:
        return {"state": "ended", "reason": subscription.ended}
    return {"state": "paused" if subscription.paused else "active"}


def _channel_of(request: Request) -> ChannelName:
    return ChannelName(request.path_params["namespace"], request.path_params["name"])


def _channel_document(
    channel: ChannelName, request: Request, delivery: Mapping[str, Any] | None
) -> dict[str, Any]:
    url = f"{request.base_url}channels/{channel}"
    shown = {"namespace": channel.namespace, "name": channel.name, "url": url}
    return shown if delivery is None else shown | {"delivery": delivery}

"""The control API: subscriptions and channels."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from headrace.api.documents import json_response, read_document
from headrace.api.problems import MEDIA_TYPE, body_of, headers_of, problem, status_of
from headrace.errors import HeadraceError, InvalidChannel, InvalidRequest, InvalidSubscription, NotFound
from headrace.filters import compile_filter
from headrace.jobs.job import Job
from headrace.jobs.requests import CATCH_UP, ReplayRequest
from headrace.subscriptions.channel import ChannelName
from headrace.subscriptions.channel_document import parse_channel_document
from headrace.subscriptions.points import LATEST, Point
from headrace.subscriptions.subscription import parse_subscription

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request

    from headrace.api.channels import KnownChannels
    from headrace.api.documents import Handler
    from headrace.events.positions import Cut
    from headrace.jobs.jobs import Jobs
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
    ) -> None:
        self._store = store
        self._channels = channels
        self._end_of_log = end_of_log
        self._jobs = jobs

    def served(self) -> dict[str, dict[str, Handler]]:
        """List what is served, and by which methods."""
        return {
            "/subscriptions": {"GET": self.subscriptions, "POST": self.subscribe},
            "/subscriptions/{id}": {"GET": self.subscription, "DELETE": self.unsubscribe},
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
        proposal = parse_subscription(
            await read_document(request, InvalidSubscription([("", "the body is not JSON")]))
        )
        created = await asyncio.to_thread(self._create, proposal)
        return json_response(_with_notes(created), 201, {"location": f"/subscriptions/{created.id}"})

    def _create(self, proposal: Subscription) -> Subscription:
        """Add it, together with the job that brings what it wants of the past."""
        if proposal.start == Point(edge=LATEST):
            return self._store.create(proposal, self._end_of_log)
        catch_up = Job(CATCH_UP, ReplayRequest(proposal.start).document(), proposal.id)
        return self._store.create(proposal, self._end_of_log, partial(self._jobs.add, catch_up))

    async def subscriptions(self, _: Request) -> Response:
        """List all subscriptions."""
        found = await asyncio.to_thread(self._store.subscriptions)
        overruns = await asyncio.to_thread(self._store.overruns)
        return json_response([each.document() | _status(overruns.get(each.id)) for each in found])

    async def subscription(self, request: Request) -> Response:
        """Show one subscription."""
        found = await asyncio.to_thread(self._store.get, request.path_params["id"])
        overruns = await asyncio.to_thread(self._store.overruns, found.id)
        return json_response(_with_notes(found) | _status(overruns.get(found.id)))

    async def unsubscribe(self, request: Request) -> Response:
        """End a subscription and show what it was."""
        ended = await asyncio.to_thread(self._store.delete, request.path_params["id"], self._end_of_log)
        return json_response(ended.document())

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
        limit = _number(request, "limit", _SHOWN, _MOST_SHOWN)
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


def _number(request: Request, name: str, default: int, most: int) -> int:
    text = request.query_params.get(name, str(default))
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= most:
        raise InvalidRequest([(name, f"{text!r} can't be used; give a number from 1 to {most}")])
    return int(text)


def _with_notes(subscription: Subscription) -> dict[str, Any]:
    """Show a subscription, and what its author should know about the way its filters are written."""
    notes = compile_filter(subscription.filters).notes
    return subscription.document() | ({"notes": list(notes)} if notes else {})


def _status(filter_: FilterStatus | None) -> dict[str, Any]:
    """Show what there is to tell of a subscription; mostly that is nothing."""
    return {} if filter_ is None else {"status": {"filter": filter_}}


def _channel_of(request: Request) -> ChannelName:
    return ChannelName(request.path_params["namespace"], request.path_params["name"])


def _channel_document(
    channel: ChannelName, request: Request, delivery: Mapping[str, Any] | None
) -> dict[str, Any]:
    url = f"{request.base_url}channels/{channel}"
    shown = {"namespace": channel.namespace, "name": channel.name, "url": url}
    return shown if delivery is None else shown | {"delivery": delivery}

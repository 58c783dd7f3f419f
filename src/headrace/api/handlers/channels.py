"""The control API: channels, and what was set aside."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from headrace.api.access.access import access_of
from headrace.api.problems import MEDIA_TYPE, body_of, problem
from headrace.api.requests.documents import json_of, json_response, read_document
from headrace.api.requests.parameters import parse_limit
from headrace.api.requests.threads import compute
from headrace.errors import HeadraceError, InvalidChannel
from headrace.subscriptions.channels.document import parse_channel_document
from headrace.subscriptions.channels.name import ChannelName

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from headrace.api.ingress.channels import KnownChannels
    from headrace.api.requests.documents import Handler
    from headrace.subscriptions.channels.document import Channel
    from headrace.subscriptions.store.store import Store

_SHOWN, _MOST_SHOWN = 100, 10_000


class Management:
    """The handlers. The store's calls block, so they run in threads. `address` is where channels are reached."""

    def __init__(self, store: Store, channels: KnownChannels, address: str) -> None:
        self._store = store
        self._channels = channels
        self._address = address

    def served(self) -> dict[str, dict[str, Handler]]:
        """List what is served, and by which methods."""
        return {
            "/api/channels": {"GET": self.list_channels, "POST": self.create_channel},
            "/api/channels/{namespace}/{name}": {
                "GET": self.channel,
                "PUT": self.change_channel,
                "DELETE": self.delete_channel,
            },
            "/api/set-aside": {"GET": self.set_aside},
        }

    async def create_channel(self, request: Request) -> Response:
        """Make a channel."""
        document = await read_document(request, InvalidChannel)
        channel = await compute(parse_channel_document, document)
        access_of(request).require(channel.name.namespace)
        access_of(request).makes = str(channel.name)
        await asyncio.to_thread(self._store.create_channel, channel.name, channel.delivery, channel.config)
        await self._channels.refresh()
        return json_response(self._shown(channel), 201, {"location": f"/api/channels/{channel.name}"})

    async def change_channel(self, request: Request) -> Response:
        """Let a channel say what the document says: of deliveries and of config; what it leaves out is taken away."""
        document = await read_document(request, InvalidChannel)
        channel = await compute(parse_channel_document, document, _channel_of(request))
        await asyncio.to_thread(self._store.replace_channel, channel)
        return json_response(self._shown(channel))

    async def list_channels(self, request: Request) -> Response:
        """List all channels."""
        found = await asyncio.to_thread(self._store.every_channel, access_of(request).namespaces)
        return await json_of(lambda: [self._shown(each) for each in found])

    async def channel(self, request: Request) -> Response:
        """Show one channel."""
        found = await asyncio.to_thread(self._store.channel, _channel_of(request))
        return json_response(self._shown(found))

    async def delete_channel(self, request: Request) -> Response:
        """Remove a channel that nobody listens to."""
        await asyncio.to_thread(self._store.delete_channel, _channel_of(request))
        await self._channels.refresh()
        return Response(status_code=204)

    async def set_aside(self, request: Request) -> Response:
        """List what routing went on without, the newest first."""
        limit = parse_limit(request.query_params.get("limit"), _SHOWN, _MOST_SHOWN)
        seen = access_of(request).namespaces
        found = await asyncio.to_thread(self._store.what_is_set_aside, limit, seen)
        return await json_of(lambda: [each.document() for each in found])

    def _shown(self, channel: Channel) -> dict[str, Any]:
        """Show a channel with its address, as set: what a request calls this service may be anything."""
        return channel.document() | {"url": f"{self._address}/channels/{channel.name}"}


async def on_error(_: Request, error: Exception) -> Response:
    """Answer an error that Headrace raised on purpose."""
    assert isinstance(error, HeadraceError)  # noqa: S101  it is registered for these only
    return Response(body_of(error), error.http_status, error.headers(), MEDIA_TYPE)


def on_status(status: int, code: str, detail: str) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Make the handler for an error of the framework itself."""

    async def answer(request: Request, error: Exception) -> Response:
        headers = getattr(error, "headers", None)
        body = problem(status, code, detail.format(path=request.url.path, method=request.method))
        return Response(body, status, headers, MEDIA_TYPE)

    return answer


def _channel_of(request: Request) -> ChannelName:
    return ChannelName(request.path_params["namespace"], request.path_params["name"])

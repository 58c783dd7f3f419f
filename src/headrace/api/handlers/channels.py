"""Channels, and the events and filters that routing set aside."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from headrace.api.access.access import access_of
from headrace.api.access.permissions import Target, admin, known, subscribe
from headrace.api.answers.channels import Channel as ShownChannel
from headrace.api.answers.channels import SetAside
from headrace.api.openapi.operation import LOCATION, Answer, Body
from headrace.api.requests.documents import compute_json, json_response, read_document
from headrace.api.requests.threads import compute
from headrace.api.routes.parameters import limit
from headrace.api.routes.tags import CHANNELS, OPERATION
from headrace.errors import InvalidChannel
from headrace.subscriptions.channels.document import CHANNEL_CHANGE, CHANNEL_PROPOSAL, parse_channel_document
from headrace.subscriptions.channels.name import ChannelName

if TYPE_CHECKING:
    from starlette.requests import Request

    from headrace.api.ingress.channels import KnownChannels
    from headrace.subscriptions.channels.document import Channel
    from headrace.subscriptions.store.store import Store

_CHANNEL = "/api/channels/{namespace}/{name}"
_LIMIT = limit(most=10_000)


class ChannelsHandler:
    """The store's calls block, so they run in threads. `address` is the base URL of channels."""

    def __init__(self, store: Store, channels: KnownChannels, address: str) -> None:
        self._store = store
        self._channels = channels
        self._address = address

    @CHANNELS.route(
        "POST /api/channels",
        admin(Target.HANDLER),
        {
            201: Answer(
                "The channel.",
                ShownChannel,
                (LOCATION,),
                {"show": "showChannel", "change": "changeChannel", "delete": "deleteChannel"},
            )
        },
        records="channel",
        body=Body(CHANNEL_PROPOSAL),
        problems={409},
    )
    async def create_channel(self, request: Request) -> Response:
        """Create a channel."""
        document = await read_document(request, InvalidChannel)
        channel = await compute(parse_channel_document, document)
        access_of(request).require(channel.name.namespace)
        along = access_of(request).along(str(channel.name))
        await asyncio.to_thread(
            self._store.create_channel, channel.name, channel.delivery, channel.config, along
        )
        await self._channels.refresh()
        return json_response(self._shown(channel), 201, {"location": f"/api/channels/{channel.name}"})

    @CHANNELS.route(
        f"PUT {_CHANNEL}",
        admin(Target.CHANNEL),
        Answer("The channel.", ShownChannel),
        records="channel",
        body=Body(CHANNEL_CHANGE),
    )
    async def change_channel(self, request: Request) -> Response:
        """Replace the delivery object and the config declarations of a channel."""
        document = await read_document(request, InvalidChannel)
        channel = await compute(parse_channel_document, document, _channel_of(request))
        await asyncio.to_thread(self._store.replace_channel, channel, access_of(request).along())
        return json_response(self._shown(channel))

    @CHANNELS.route("GET /api/channels", known(Target.HANDLER), Answer("The channels.", list[ShownChannel]))
    async def list_channels(self, request: Request) -> Response:
        """List all channels."""
        found = await asyncio.to_thread(self._store.every_channel, access_of(request).namespaces)
        return await compute_json(lambda: [self._shown(each) for each in found])

    @CHANNELS.route(f"GET {_CHANNEL}", known(Target.CHANNEL), Answer("The channel.", ShownChannel))
    async def show_channel(self, request: Request) -> Response:
        """Show one channel."""
        found = await asyncio.to_thread(self._store.channel, _channel_of(request))
        return json_response(self._shown(found))

    @CHANNELS.route(
        f"DELETE {_CHANNEL}",
        admin(Target.CHANNEL),
        {204: Answer("It is gone.")},
        records="channel",
        problems={409},
    )
    async def delete_channel(self, request: Request) -> Response:
        """Remove a channel that has no subscriptions."""
        along = access_of(request).along()
        await asyncio.to_thread(self._store.delete_channel, _channel_of(request), along)
        await self._channels.refresh()
        return Response(status_code=204)

    @OPERATION.route(
        "GET /api/set-aside",
        subscribe(Target.HANDLER),
        Answer("Events, filters and damaged positions, each with the reason.", list[SetAside]),
        parameters=(_LIMIT,),
    )
    async def list_set_aside(self, request: Request) -> Response:
        """List what routing set aside, the newest first."""
        most, seen = _LIMIT.of(request), access_of(request).namespaces
        found = await asyncio.to_thread(self._store.what_is_set_aside, most, seen)
        return await compute_json(lambda: [each.document() for each in found])

    def _shown(self, channel: Channel) -> dict[str, Any]:
        """Show a channel with its configured address; the Host of a request can't be trusted."""
        return channel.document() | {"url": f"{self._address}/channels/{channel.name}"}


def _channel_of(request: Request) -> ChannelName:
    return ChannelName(request.path_params["namespace"], request.path_params["name"])

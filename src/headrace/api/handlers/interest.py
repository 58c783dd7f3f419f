"""The interest of a channel's subscriptions, for its producers: one CEL expression, and a Bloom filter.

A producer may drop events by an answer for `maxAge` seconds from the moment it sent the request. So caches in between
must revalidate each time, which the ETag makes cheap; `Prefer: wait=…` with a known ETag answers on a change.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from starlette.responses import Response

from headrace.api.access.permissions import Target, publish
from headrace.api.answers.channels import Interest as ShownInterest
from headrace.api.openapi.operation import PREFERENCE_APPLIED, Answer, Header
from headrace.api.requests.documents import json_response
from headrace.api.requests.etags import is_known
from headrace.api.requests.prefer import preference_applied, seconds_to_wait, wait_until
from headrace.api.routes.parameters import Parameter
from headrace.api.routes.shared_parameters import IF_NONE_MATCH
from headrace.api.routes.tags import CHANNELS
from headrace.errors import InterestRefused, NotFound
from headrace.subscriptions.channels.name import ChannelName

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from headrace.api.ingress.channels import KnownChannels
    from headrace.interest import Interest, Interests, InterestSettings

_PATH = "/api/channels/{namespace}/{name}/interest"
_SHARED_SECONDS = 0.05
_MEDIA_TYPE = "application/vnd.headrace.bloom"
_PREFER = Parameter(
    "Prefer",
    "`wait=5` (RFC 7240) with `If-None-Match` answers when there is something else, or when so many seconds, at most "
    "60, are over.",
    {"type": "string"},
    str,
    None,
    "header",
    "wait=5",
)
_CONDITIONS = (IF_NONE_MATCH, _PREFER)
_TOLD = (
    Header(
        "ETag",
        "Names what is told; it stays for as long as that does.",
        {"type": "string", "pattern": '^"[0-9a-f]+"$'},
    ),
    Header(
        "Headrace-Revision",
        "The store's revision that the answer holds for, everybody who had subscribed by then included.",
        {"type": "string", "pattern": "^[0-9]+$"},
    ),
    PREFERENCE_APPLIED,
)
_AGING = (
    *_TOLD,
    Header(
        "Headrace-Max-Age",
        "For how many seconds it may be used, from when it was asked for.",
        {"type": "string", "pattern": "^[0-9.]+$"},
    ),
)


class InterestHandler:
    """For one event loop; all waiting requests share the queries of the store."""

    def __init__(self, interests: Interests, channels: KnownChannels, settings: InterestSettings) -> None:
        self._interests = interests
        self._channels = channels
        self._settings = settings
        self._looking = asyncio.Lock()
        self._last: dict[ChannelName, tuple[float, Interest]] = {}

    @CHANNELS.route(
        f"GET {_PATH}",
        publish(Target.PATH),
        {
            200: Answer("The expression.", ShownInterest, _TOLD),
            304: Answer("It is the same still.", headers=_TOLD),
        },
        parameters=_CONDITIONS,
        problems={404},
    )
    async def show_interest(self, request: Request) -> Response:
        """Show what the channel's subscriptions want, as one CEL expression.

        For who sends events: one on which the expression isn't true is wanted by nobody, and need not be sent. That may
        be relied on for `maxAge` seconds from when this was asked for; then it has to be asked for again.
        """
        found, tag = await self._awaited(request, _tag_of_text)
        if is_known(request, tag):
            return Response(status_code=304, headers=_headers(found, tag, request))
        document: ShownInterest = {
            "channel": str(found.channel),
            "revision": found.revision,
            "subscriptions": found.subscriptions,
            "cel": found.text.cel,
            "exact": found.text.exact,
            "variables": await asyncio.to_thread(lambda: found.variables),
            "maxAge": self._settings.max_age_seconds,
            "bloom": f"{request.url.path}/bloom",
        }
        return json_response(document, 200, _headers(found, tag, request))

    @CHANNELS.route(
        f"GET {_PATH}/bloom",
        publish(Target.PATH),
        {
            200: Answer(
                "The bytes of the exported filter.",
                {_MEDIA_TYPE: {"type": "string", "format": "binary"}},
                _AGING,
            ),
            304: Answer("It is the same still.", headers=_AGING),
        },
        parameters=_CONDITIONS,
        problems={404},
    )
    async def show_bloom_filter(self, request: Request) -> Response:
        """Show what the channel's subscriptions want, as a Bloom filter."""
        found, tag = await self._awaited(request, _tag_of_bloom)
        headers = _headers(found, tag, request) | {"headrace-max-age": f"{self._settings.max_age_seconds:g}"}
        if is_known(request, tag):
            return Response(status_code=304, headers=headers)
        data, _ = await asyncio.to_thread(found.bloom)
        return Response(data, 200, headers, _MEDIA_TYPE)

    async def _awaited(
        self, request: Request, tag_of: Callable[[Interest], Awaitable[str]]
    ) -> tuple[Interest, str]:
        """Return the interest and its tag; where the caller waits for a change, once it has changed."""
        channel = await self._channel(request)

        async def look(age: float = _SHARED_SECONDS) -> tuple[Interest, str]:
            found = await self._looked_up(channel, time.monotonic() - age)
            return found, await tag_of(found)

        return await wait_until(
            request,
            lambda seen: not is_known(request, seen[1]),
            look,
            await look(0.0),
            seconds_to_wait(request),
        )

    async def _channel(self, request: Request) -> ChannelName:
        channel = ChannelName(request.path_params["namespace"], request.path_params["name"])
        if channel not in self._channels:
            await self._channels.refresh()
        if channel not in self._channels:
            raise NotFound("channel", str(channel))
        if not self._settings.enabled:
            raise InterestRefused(str(channel))
        return channel

    async def _looked_up(self, channel: ChannelName, oldest: float) -> Interest:
        """Return the interest as of the time `oldest` or later."""
        async with self._looking:
            began, found = self._last.get(channel, (0.0, None))
            if found is None or began < oldest:
                began = time.monotonic()
                found = await asyncio.to_thread(self._interests.of, channel)
                self._last[channel] = began, found
            return found


async def _tag_of_text(found: Interest) -> str:
    return found.etag


async def _tag_of_bloom(found: Interest) -> str:
    return (await asyncio.to_thread(found.bloom))[1]


def _headers(found: Interest, tag: str, request: Request) -> dict[str, str]:
    return {
        "etag": tag,
        "cache-control": "no-cache",
        "headrace-revision": str(found.revision),
        **preference_applied(request),
    }

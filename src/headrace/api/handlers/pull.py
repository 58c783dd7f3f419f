"""The consumers' door: events of a subscription that has no sink, by long-poll or as a stream of server-sent events.

Every event comes at least once: it waits until it is acknowledged, and comes again where that doesn't happen within
the lease, or where its consumer comes back without.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.responses import Response, StreamingResponse

from headrace.api.access.access import access_of
from headrace.api.pull.cursors import Cursor, new_consumer, parse_acknowledgement, parse_cursor
from headrace.api.pull.messages import lease_of
from headrace.api.pull.stream import MEDIA_TYPE as STREAM
from headrace.api.pull.stream import Stream
from headrace.api.requests.documents import json_response, read_document
from headrace.api.requests.parameters import Parameters
from headrace.api.requests.prefer import applied, first_of, seconds_to_wait
from headrace.api.requests.threads import compute
from headrace.errors import Conflict
from headrace.events.json_format import BATCH_MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from headrace.api.pull.arrivals import Arrivals
    from headrace.api.pull.messages import Handed, Handing
    from headrace.api.requests.documents import Handler
    from headrace.ledger.pull.consumers import Mailroom
    from headrace.subscriptions.store.store import Store
    from headrace.subscriptions.subscription import Subscription

CURSOR_HEADER = "headrace-cursor"
_JSON = "application/json"
_EVENTS, _MOST_EVENTS, _LONGEST_WAIT = 100, 1000, 60
# Who waits looks for itself so often: for what another consumer lets go of, and whether anything was changed.
_LOOK_SECONDS = 1.0
_AT_ONCE = {"cache-control": "no-store", "x-accel-buffering": "no"}


class _Wish(NamedTuple):
    """What a consumer asks for: so many events at most, after so many seconds, from a cursor of its own on."""

    most: int | None
    seconds: int
    cursor: Cursor | None
    when_sent: bool


class Pulling:
    """The handlers. The databases' calls block, so they run in threads; `close` ends what waits."""

    def __init__(self, store: Store, mailroom: Mailroom, handing: Handing, arrivals: Arrivals) -> None:
        self._store = store
        self._mailroom = mailroom
        self._handing = handing
        self._arrivals = arrivals
        self._closing = asyncio.Event()

    def served(self) -> dict[str, dict[str, Handler]]:
        """List what is served, and by which methods."""
        return {
            "/api/subscriptions/{id}/events": {"GET": self.events},
            "/api/subscriptions/{id}/ack": {"POST": self.acknowledge},
        }

    def close(self) -> None:
        """Answer everybody who waits, and end the streams: the process is about to stop."""
        self._closing.set()

    async def events(self, request: Request) -> Response:
        """Hand out events: as a stream, as a batch, or in an envelope, whichever the consumer accepts first."""
        subscription = await self._subscription(request.path_params["id"])
        if request.method == "HEAD":
            return Response(status_code=204)
        form = _form(request)
        if form == STREAM:
            return await self._stream(request, subscription)
        return await self._poll(request, subscription, form)

    async def _poll(self, request: Request, subscription: Subscription, form: str) -> Response:
        wish = _wish(request)
        cursor = await self._begin(subscription, wish)
        most = wish.most or _EVENTS
        handed = await self._wait(request, subscription, cursor.consumer, most, wish.seconds)
        if form == BATCH_MEDIA_TYPE:
            handed = await self._of_one_version(handed)
        if wish.when_sent and handed:
            await self._acknowledge(subscription, Cursor(cursor.consumer, handed[-1].letter.number))
        cursor = Cursor(cursor.consumer, handed[-1].letter.number) if handed else cursor
        headers = {CURSOR_HEADER: str(cursor), "cache-control": "no-store"} | applied(request)
        if not handed:
            return Response(status_code=204, headers=headers)
        if form == BATCH_MEDIA_TYPE:
            return Response(_array([each.document for each in handed]), headers=headers, media_type=form)
        return Response(_envelope(cursor, handed), headers=headers, media_type=form)

    async def _stream(self, request: Request, subscription: Subscription) -> Response:
        wish = _wish(request)
        cursor = await self._begin(subscription, wish)
        alone = await asyncio.to_thread(self._handing.is_ordered, subscription)
        stream = Stream(
            self._mailroom, self._handing, self._arrivals, self._finder(request), self._closing,
            subscription.id, cursor.consumer, wish.most or _MOST_EVENTS, alone=alone, when_sent=wish.when_sent,
        )  # fmt: skip
        headers = {CURSOR_HEADER: str(cursor)} | _AT_ONCE
        return StreamingResponse(stream.run(), headers=headers, media_type=STREAM)

    def _finder(self, request: Request) -> Callable[[str], Awaitable[Subscription]]:
        """Return what finds the subscription for as long as who asked may have its events."""

        async def find(subscription_id: str) -> Subscription:
            await access_of(request).renew()
            return await self._subscription(subscription_id)

        return find

    async def acknowledge(self, request: Request) -> Response:
        """Let events go that a consumer is done with, or that it gives back."""
        subscription = await self._subscription(request.path_params["id"])
        said = await compute(parse_acknowledgement, await read_document(request))
        done = await asyncio.to_thread(
            self._mailroom.acknowledge, subscription.id, said.consumer, lease_of(subscription), said.up_to, said.numbers
        )  # fmt: skip
        shown = {"acknowledged": done}
        if said.release:
            shown["released"] = await asyncio.to_thread(
                self._mailroom.give_back, subscription.id, said.consumer
            )
        return json_response(shown)

    async def _subscription(self, subscription_id: str) -> Subscription:
        found = await asyncio.to_thread(self._store.get, subscription_id)
        if not found.is_pulled:
            raise Conflict(
                f"subscription {found.id} has a sink, to which its events are delivered over {found.protocol}; "
                "only those of protocol PULL wait to be asked for"
            )
        return found

    async def _begin(self, subscription: Subscription, wish: _Wish) -> Cursor:
        """Make a consumer; one that comes back is done with what its cursor says, and gets the rest again."""
        if wish.cursor is None:
            return Cursor(new_consumer())
        await self._acknowledge(subscription, wish.cursor)
        await asyncio.to_thread(self._mailroom.give_back, subscription.id, wish.cursor.consumer)
        return wish.cursor

    async def _acknowledge(self, subscription: Subscription, cursor: Cursor) -> None:
        await asyncio.to_thread(
            self._mailroom.acknowledge,
            subscription.id,
            cursor.consumer,
            lease_of(subscription),
            cursor.number,
        )

    async def _wait(
        self, request: Request, subscription: Subscription, consumer: str, most: int, seconds: int
    ) -> list[Handed]:
        deadline = time.monotonic() + seconds
        alone = await asyncio.to_thread(self._handing.is_ordered, subscription)
        with self._arrivals.expecting(subscription.id) as arrived:
            while True:
                arrived.clear()
                handed = await asyncio.to_thread(
                    self._handing.take, subscription, consumer, most, alone=alone
                )
                left = deadline - time.monotonic()
                if handed or left <= 0 or self._closing.is_set() or await request.is_disconnected():
                    return handed
                await first_of(arrived, self._closing, seconds=min(left, _LOOK_SECONDS))
                await access_of(request).renew()
                subscription = await self._subscription(subscription.id)

    async def _of_one_version(self, handed: list[Handed]) -> list[Handed]:
        """Cut where the specversion changes: a batch has one. The rest comes with the next."""
        versions = [each.event.attributes["specversion"] for each in handed]
        end = next((index for index, each in enumerate(versions) if each != versions[0]), len(handed))
        await asyncio.to_thread(self._handing.take_back, handed[end:])
        return handed[:end]


def _wish(request: Request) -> _Wish:
    given = Parameters(request, ("max", "wait", "cursor", "ack"))
    most, asked = given.number("max", 1, _MOST_EVENTS), given.number("wait", 0, _LONGEST_WAIT)
    when_sent = given.one_of("ack", ("explicit", "sent")) == "sent"
    given.check()
    last, named = request.headers.get("last-event-id"), "Last-Event-ID"
    if last is None:
        last, named = given.text("cursor"), "cursor"
    seconds = seconds_to_wait(request) if asked is None else asked
    return _Wish(most, seconds, None if last is None else parse_cursor(last, named), when_sent)


def _form(request: Request) -> str:
    """Return the form of the answer that the consumer names first; a batch where it names none that there is."""
    accepted = [
        each.partition(";")[0].strip().lower() for each in request.headers.get("accept", "").split(",")
    ]
    return next((each for each in accepted if each in (STREAM, BATCH_MEDIA_TYPE, _JSON)), BATCH_MEDIA_TYPE)


def _array(documents: list[bytes]) -> bytes:
    return b"[" + b",".join(documents) + b"]"


def _envelope(cursor: Cursor, handed: list[Handed]) -> bytes:
    return msgspec.json.encode(
        {
            "cursor": str(cursor),
            "consumer": cursor.consumer,
            "events": [_shown(cursor, each) for each in handed],
        }
    )


def _shown(cursor: Cursor, handed: Handed) -> dict[str, Any]:
    letter = handed.letter
    shown = {
        "cursor": str(cursor._replace(number=letter.number)),
        "position": letter.position,
        "handed": letter.handed,
        "event": msgspec.Raw(handed.document),
    }
    return shown | ({"replay": letter.replay} if letter.replay else {})

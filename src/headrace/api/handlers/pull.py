"""Pull: consumers fetch the events of a subscription without a sink, by long poll or as server-sent events.

Every event is handed out at least once: it waits until it is acknowledged, and is handed out again if that doesn't
happen within the lease, or if its consumer comes back without having acknowledged it.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.responses import Response, StreamingResponse

from headrace.api.access.access import access_of
from headrace.api.access.permissions import Target, subscribe
from headrace.api.answers.events import CLOUD_EVENT
from headrace.api.answers.pull import Acknowledged, PulledEvents
from headrace.api.openapi.operation import JSON, PREFERENCE_APPLIED, Answer, Body, Header
from headrace.api.pull.cursors import (
    ACKNOWLEDGEMENT,
    PULL_CURSOR,
    Cursor,
    new_consumer,
    parse_acknowledgement,
    parse_cursor,
)
from headrace.api.pull.messages import lease_of
from headrace.api.pull.stream import MEDIA_TYPE as STREAM
from headrace.api.pull.stream import Stream
from headrace.api.requests.documents import json_response, read_document
from headrace.api.requests.prefer import preference_applied, seconds_to_wait, wait_for_any
from headrace.api.requests.threads import compute
from headrace.api.routes.parameters import Parameter, Parameters, header, number, one_of
from headrace.api.routes.shared_parameters import PREFER
from headrace.api.routes.tags import PULLING
from headrace.errors import Conflict
from headrace.events.json_format import BATCH_MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from headrace.api.pull.messages import HandedMessage, MessageSource
    from headrace.api.pull.notifier import MailboxNotifier
    from headrace.ledger.pull.leases import MessageLeases
    from headrace.subscriptions.store.store import Store
    from headrace.subscriptions.subscription import Subscription

CURSOR_HEADER = "headrace-cursor"
_EVENTS, _MOST_EVENTS, _LONGEST_WAIT = 100, 1000, 60
# A waiting request looks for itself this often: another consumer may release events, the subscription may change.
_LOOK_SECONDS = 1.0
_MAX = number(
    "max", 1, _MOST_EVENTS, "So many events at most; in a stream, so many that are not acknowledged."
)
_WAIT = number(
    "wait",
    0,
    _LONGEST_WAIT,
    "So many seconds an answer may wait for events, in place of `Prefer`. A stream goes on by itself.",
)
_CURSOR = Parameter(
    "cursor",
    "Where this consumer got. That is acknowledged, and whatever else it holds comes again.",
    PULL_CURSOR,
    str,
    None,
)
_ACK = one_of(
    "ack",
    ("explicit", "sent"),
    "With `sent`, events are acknowledged when they are sent. What is lost on the way is lost.",
    default="explicit",
)
_PULL = (_MAX, _WAIT, _CURSOR, _ACK, header("Last-Event-ID", "The same as `cursor`.", PULL_CURSOR), PREFER)
_PULLED = (
    Header(
        "Headrace-Cursor",
        "The consumer, and the last event that it was handed; acknowledging it acknowledges all up to there.",
        PULL_CURSOR,
    ),
    PREFERENCE_APPLIED,
)
_UNBUFFERED = {"cache-control": "no-store", "x-accel-buffering": "no"}


class _PullRequest(NamedTuple):
    """How many events at most, how long to wait, the consumer's cursor, and whether sending acknowledges."""

    limit: int | None
    seconds: int
    cursor: Cursor | None
    when_sent: bool


class PullHandler:
    """The databases' calls block, so they run in threads; `close` ends waiting requests and streams."""

    def __init__(
        self, store: Store, leases: MessageLeases, messages: MessageSource, notifier: MailboxNotifier
    ) -> None:
        self._store = store
        self._leases = leases
        self._messages = messages
        self._notifier = notifier
        self._closing = asyncio.Event()

    def close(self) -> None:
        """Answer waiting requests and end streams, because the process is about to stop."""
        self._closing.set()

    @PULLING.route(
        "GET /api/subscriptions/{id}/events",
        subscribe(Target.SUBSCRIPTION),
        {
            200: Answer(
                "Events, in the order in which they came in.",
                {BATCH_MEDIA_TYPE: {"type": "array", "items": CLOUD_EVENT}, JSON: PulledEvents, STREAM: str},
                _PULLED,
            ),
            204: Answer("Nothing waits.", headers=_PULLED),
        },
        parameters=_PULL,
        problems={409},
    )
    async def pull_events(self, request: Request) -> Response:
        """Hand out events of a subscription of protocol PULL.

        The answer is a batch, an envelope (`application/json`) or a stream of server-sent events, whichever `Accept`
        names first. What is handed out is held for the subscription's lease; what isn't acknowledged until then comes
        again.
        """
        subscription = await self._subscription(request.path_params["id"])
        if request.method == "HEAD":
            return Response(status_code=204)
        form = _form(request)
        if form == STREAM:
            return await self._stream(request, subscription)
        return await self._poll(request, subscription, form)

    async def _poll(self, request: Request, subscription: Subscription, form: str) -> Response:
        wanted = _pull_request(request)
        cursor = await self._begin(subscription, wanted.cursor)
        limit = wanted.limit or _EVENTS
        handed = await self._wait(request, subscription, cursor.consumer, limit, wanted.seconds)
        if form == BATCH_MEDIA_TYPE:
            handed = await self._of_one_version(handed)
        if handed:
            cursor = Cursor(cursor.consumer, handed[-1].message.number)
            if wanted.when_sent:
                await self._acknowledge(subscription, cursor)
        headers = {CURSOR_HEADER: str(cursor), "cache-control": "no-store"} | preference_applied(request)
        if not handed:
            return Response(status_code=204, headers=headers)
        if form == BATCH_MEDIA_TYPE:
            batch = b"[" + b",".join(each.document for each in handed) + b"]"
            return Response(batch, headers=headers, media_type=form)
        return Response(_envelope(cursor, handed), headers=headers, media_type=form)

    async def _stream(self, request: Request, subscription: Subscription) -> Response:
        wanted = _pull_request(request)
        cursor = await self._begin(subscription, wanted.cursor)
        alone = await asyncio.to_thread(self._messages.is_ordered, subscription)
        stream = Stream(
            self._leases, self._messages, self._notifier, self._finder(request), self._closing,
            subscription.id, cursor.consumer, wanted.limit or _MOST_EVENTS, alone=alone, when_sent=wanted.when_sent,
        )  # fmt: skip
        headers = {CURSOR_HEADER: str(cursor)} | _UNBUFFERED
        return StreamingResponse(stream.run(), headers=headers, media_type=STREAM)

    def _finder(self, request: Request) -> Callable[[str], Awaitable[Subscription]]:
        """Return a function that finds the subscription, and raises once the caller may not read it any more."""

        async def find(subscription_id: str) -> Subscription:
            await access_of(request).renew()
            return await self._subscription(subscription_id)

        return find

    @PULLING.route(
        "POST /api/subscriptions/{id}/ack",
        subscribe(Target.SUBSCRIPTION),
        Answer("What was acknowledged. Late ones are not among it; they come again.", Acknowledged),
        body=Body(ACKNOWLEDGEMENT),
        problems={409},
    )
    async def acknowledge_events(self, request: Request) -> Response:
        """Let events go that a consumer is done with, or that it gives back."""
        subscription = await self._subscription(request.path_params["id"])
        said = await compute(parse_acknowledgement, await read_document(request))
        done = await asyncio.to_thread(
            self._leases.acknowledge, subscription.id, said.consumer, lease_of(subscription), said.up_to, said.numbers
        )  # fmt: skip
        shown: Acknowledged = {"acknowledged": done}
        if said.release:
            shown["released"] = await asyncio.to_thread(
                self._leases.give_back, subscription.id, said.consumer
            )
        return json_response(shown)

    async def _subscription(self, subscription_id: str) -> Subscription:
        found = await asyncio.to_thread(self._store.get, subscription_id)
        if not found.is_pulled:
            raise Conflict(
                f"subscription {found.id} has a sink, to which its events are delivered over {found.protocol}; "
                "only subscriptions of protocol PULL can be pulled from"
            )
        return found

    async def _begin(self, subscription: Subscription, cursor: Cursor | None) -> Cursor:
        """Name a new consumer; for one that comes back, acknowledge up to its cursor and release the rest."""
        if cursor is None:
            return Cursor(new_consumer())
        await self._acknowledge(subscription, cursor)
        await asyncio.to_thread(self._leases.give_back, subscription.id, cursor.consumer)
        return cursor

    async def _acknowledge(self, subscription: Subscription, cursor: Cursor) -> None:
        await asyncio.to_thread(
            self._leases.acknowledge,
            subscription.id,
            cursor.consumer,
            lease_of(subscription),
            cursor.number,
        )

    async def _wait(
        self, request: Request, subscription: Subscription, consumer: str, limit: int, seconds: int
    ) -> list[HandedMessage]:
        deadline = time.monotonic() + seconds
        alone = await asyncio.to_thread(self._messages.is_ordered, subscription)
        with self._notifier.watch(subscription.id) as arrived:
            while True:
                arrived.clear()
                handed = await asyncio.to_thread(
                    self._messages.take, subscription, consumer, limit, alone=alone
                )
                left = deadline - time.monotonic()
                if handed or left <= 0 or self._closing.is_set() or await request.is_disconnected():
                    return handed
                await wait_for_any(arrived, self._closing, seconds=min(left, _LOOK_SECONDS))
                await access_of(request).renew()
                subscription = await self._subscription(subscription.id)

    async def _of_one_version(self, handed: list[HandedMessage]) -> list[HandedMessage]:
        """Keep the first events of one specversion, because a batch has only one, and release the others."""
        versions = [each.event.attributes["specversion"] for each in handed]
        end = next((index for index, each in enumerate(versions) if each != versions[0]), len(handed))
        await asyncio.to_thread(self._messages.take_back, handed[end:])
        return handed[:end]


def _pull_request(request: Request) -> _PullRequest:
    given = Parameters(request, _PULL)
    limit, asked = given.read(_MAX), given.read(_WAIT)
    when_sent = given.read(_ACK) == "sent"
    given.check()
    last, named = request.headers.get("last-event-id"), "Last-Event-ID"
    if last is None:
        last, named = given.read(_CURSOR), "cursor"
    seconds = seconds_to_wait(request) if asked is None else asked
    return _PullRequest(limit, seconds, None if last is None else parse_cursor(last, named), when_sent)


def _form(request: Request) -> str:
    """Return the first supported media type in `Accept`; a batch if there is none."""
    accepted = [
        each.partition(";")[0].strip().lower() for each in request.headers.get("accept", "").split(",")
    ]
    return next((each for each in accepted if each in (STREAM, BATCH_MEDIA_TYPE, JSON)), BATCH_MEDIA_TYPE)


def _envelope(cursor: Cursor, handed: list[HandedMessage]) -> bytes:
    return msgspec.json.encode(
        {
            "cursor": str(cursor),
            "consumer": cursor.consumer,
            "events": [_shown(cursor, each) for each in handed],
        }
    )


def _shown(cursor: Cursor, handed: HandedMessage) -> dict[str, Any]:
    message = handed.message
    shown = {
        "cursor": str(cursor._replace(number=message.number)),
        "position": message.position,
        "handed": message.handed,
        "event": msgspec.Raw(handed.document),
    }
    return shown | ({"replay": message.replay} if message.replay else {})

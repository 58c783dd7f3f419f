"""Import and export of many subscriptions as lines of JSON, streamed."""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import msgspec
from starlette.responses import StreamingResponse

from headrace.api.access.access import access_of
from headrace.api.access.permissions import Target, subscribe
from headrace.api.answers.subscriptions import ExportedSubscription, ImportOutcome
from headrace.api.openapi.operation import Answer, Body
from headrace.api.openapi.request_schemas import SUBSCRIPTION_LINE
from headrace.api.requests.documents import check_media_type, compute_json
from headrace.api.routes.parameters import Parameters, channel, flag
from headrace.api.routes.tags import SUBSCRIPTIONS
from headrace.api.subscriptions.extra_rows import extra_rows
from headrace.errors import Conflict, InvalidImport, PayloadTooLarge, SentTooSlowly, lines_of
from headrace.events.media_types import essence, is_json
from headrace.subscriptions.imports.line import line_of
from headrace.subscriptions.imports.lines import Import
from headrace.subscriptions.store.query import SubscriptionQuery

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator

    from sqlalchemy import Connection
    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.api.access.access import Access
    from headrace.api.settings import ApiSettings
    from headrace.database.companion import Companion
    from headrace.events.positions import LogPosition
    from headrace.subscriptions.imports.batch import Lot
    from headrace.subscriptions.store.secrets import SecretStore
    from headrace.subscriptions.store.store import Store
    from headrace.subscriptions.subscription import Subscription

MEDIA_TYPE = "application/x-ndjson"
_READ = (MEDIA_TYPE, "application/ndjson", "application/jsonl", "application/x-jsonlines")
_ENCODER = msgspec.json.Encoder()
_DRY_RUN = flag("dryRun", "Check every line and create nothing.")
_KEEP_IDS = flag(
    "keepIds",
    "Keep the ids of the lines. Who is there already stays as it is, so that an import can be repeated. For a caller "
    "who doesn't see all namespaces a new id is made from the given one, always the same.",
)
_SKIP_FAULTY = flag("skipFaulty", "Create the others where some lines can't be used.")
_IMPORT = (_DRY_RUN, _KEEP_IDS, _SKIP_FAULTY)
_CHANNEL = channel("channel", "Only those of this channel.")
_AT_ONCE = 8
_LONGEST_SECONDS = 3600.0
_Given = ParamSpec("_Given")
_Done = TypeVar("_Done")


class BulkHandler:
    """Checking and storing take a core, so they run in a thread, one at a time.

    Reading requests takes no turn: a slow sender holds up only imports of the same tenant.
    """

    def __init__(
        self,
        store: Store,
        end_of_log: Callable[[], LogPosition],
        secret_store: SecretStore,
        settings: ApiSettings,
    ) -> None:
        self._store = store
        self._end_of_log = end_of_log
        self._secret_store = secret_store
        self._max_bytes = settings.max_import_bytes
        self._max_line_bytes = settings.max_document_bytes
        self._idle = settings.import_idle_seconds
        self._under_way: set[frozenset[str] | None] = set()
        self._turn = asyncio.Lock()

    @SUBSCRIPTIONS.route(
        "POST /api/subscriptions/import",
        subscribe(Target.HANDLER),
        Answer("What became of the lines.", ImportOutcome),
        records="subscription",
        parameters=_IMPORT,
        body=Body(
            {MEDIA_TYPE: {"type": "array", "items": SUBSCRIPTION_LINE}},
            "Lines of JSON, one for each subscription; empty ones are passed over. They are checked as they come.",
        ),
        problems={404, 408, 409, 415, 429},
    )
    async def import_subscriptions(self, request: Request) -> Response:
        """Create a subscription of every line, or none if one of them can't be used."""
        asked = Parameters(request, _IMPORT)
        dry_run, keep_ids, skip = (asked.read(each) for each in _IMPORT)
        asked.check()
        check_media_type(request, lambda given: essence(given) in _READ or is_json(given), _READ)
        access = access_of(request)
        with self._slot(access):
            channels = await asyncio.to_thread(self._store.every_channel, access.namespaces)
            declared = {each.name: each.config for each in channels}
            reading = Import(declared, keep_ids=keep_ids, sees_all=access.namespaces is None)
            with reading.lot:
                chunks = _punctual(request.stream(), self._idle)
                async for lines in _lines(chunks, self._max_bytes, self._max_line_bytes):
                    await access.renew()
                    await self._in_turn(reading.read, lines)
                if reading.refused and not skip:
                    raise InvalidImport(reading.refused, reading.refusals)
                for namespace in reading.namespaces:
                    access.require(namespace)
                created = None
                if not dry_run:
                    created = await self._in_turn(self._create, reading.lot, access.along())
            return await compute_json(lambda: _outcome(reading, created))

    @contextmanager
    def _slot(self, access: Access) -> Iterator[None]:
        """Allow one import at a time for each tenant, and a few for all of them."""
        tenant = access.namespaces
        if tenant in self._under_way or len(self._under_way) >= _AT_ONCE:
            raise Conflict("another import is under way; try again when it is done")
        self._under_way.add(tenant)
        try:
            yield
        finally:
            self._under_way.discard(tenant)

    async def _in_turn(
        self, work: Callable[_Given, _Done], *given: _Given.args, **named: _Given.kwargs
    ) -> _Done:
        async with self._turn:
            return await asyncio.to_thread(work, *given, **named)

    def _create(self, lot: Lot, along: Companion | None) -> int:
        def also(connection: Connection, proposal: Subscription) -> None:
            extra_rows(proposal, self._secret_store)(connection)

        return self._store.create_lot(lot, self._end_of_log, also, along)

    @SUBSCRIPTIONS.route(
        "GET /api/subscriptions/export",
        subscribe(Target.HANDLER),
        Answer(
            "Lines of JSON, one for each subscription, in the order of their creation.",
            {MEDIA_TYPE: list[ExportedSubscription]},
        ),
        parameters=(_CHANNEL,),
    )
    async def export_subscriptions(self, request: Request) -> Response:
        """Write the subscriptions, one a line, without their secrets."""
        asked = Parameters(request, [_CHANNEL])
        access = access_of(request)
        query = SubscriptionQuery(among=access.namespaces, channel=asked.read(_CHANNEL))
        asked.check()
        return StreamingResponse(self._pages(query, access), media_type=MEDIA_TYPE)

    async def _pages(self, query: SubscriptionQuery, access: Access) -> AsyncIterator[bytes]:
        """Yield pages. An error breaks the connection, because an answer that just ended would look complete."""
        while True:
            await access.renew()
            page = await asyncio.to_thread(self._store.page, query)
            yield _ENCODER.encode_lines([line_of(each) for each in page.subscriptions])
            if page.next is None:
                return
            query = replace(query, after=page.next)


def _outcome(reading: Import, created: int | None) -> dict[str, Any]:
    """Describe what became of the lines; a dry run creates none."""
    accepted = len(reading.lot)
    return {
        "accepted": accepted,
        "created": created or 0,
        "existing": 0 if created is None else accepted - created,
        "renamed": (created or 0) if reading.keep_ids and not reading.sees_all else 0,
        "refused": reading.refused,
        "lines": lines_of(reading.refusals),
    }


async def _punctual(chunks: AsyncIterable[bytes], idle: float) -> AsyncIterator[bytes]:
    """Pass chunks on; raise SentTooSlowly when the sender pauses too long, or the whole takes too long."""
    coming, ends = aiter(chunks), time.monotonic() + _LONGEST_SECONDS
    while True:
        try:
            async with asyncio.timeout(min(idle, ends - time.monotonic())):
                chunk = await anext(coming)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise SentTooSlowly("the import", idle, _LONGEST_SECONDS) from None
        yield chunk


async def _lines(
    chunks: AsyncIterable[bytes], max_bytes: int, max_line_bytes: int
) -> AsyncIterator[list[bytes]]:
    """Split a stream into lines as they arrive; the last one may lack its newline."""
    rest, size = b"", 0
    async for chunk in chunks:
        size += len(chunk)
        if size > max_bytes:
            raise PayloadTooLarge("the import", max_bytes)
        *lines, rest = (rest + chunk).split(b"\n")
        if any(len(line) > max_line_bytes for line in (rest, *lines)):
            raise PayloadTooLarge("a line", max_line_bytes)
        if lines:
            yield lines
    if rest:
        yield [rest]

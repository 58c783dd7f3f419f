"""The CloudEvents Subscriptions API over HTTP, and secrets, pause and resume beyond it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response, StreamingResponse

from headrace.api.access.access import access_of
from headrace.api.requests.documents import json_response, read_document
from headrace.api.requests.etags import check_match, etag_of, is_known
from headrace.api.requests.parameters import Parameters, write_cursor
from headrace.api.requests.threads import compute
from headrace.api.subscriptions.capabilities import COLLECTION, QUERY_PARAMETERS, RESOURCE, capabilities
from headrace.api.subscriptions.extra_rows import extra_rows
from headrace.api.subscriptions.status import shown_new
from headrace.errors import InvalidSubscription
from headrace.protocols import PROTOCOLS
from headrace.secrets.secrets import Secrets, makes_keys, with_made_keys
from headrace.subscriptions.secret_changes import changed
from headrace.subscriptions.store.query import SubscriptionQuery
from headrace.subscriptions.subscription import STATES, parse_subscription
from headrace.subscriptions.updates import updated

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request

    from headrace.api.access.access import Access
    from headrace.api.handlers.handler import Routes
    from headrace.api.subscriptions.status import Statuses
    from headrace.events.positions import LogPosition
    from headrace.subscriptions.store.query import Page
    from headrace.subscriptions.store.secrets import SecretStore
    from headrace.subscriptions.store.store import Store
    from headrace.subscriptions.subscription import Subscription

MOST_LISTED = 1000


class SubscriptionsHandler:
    """The store's calls block, so they run in threads."""

    def __init__(
        self,
        store: Store,
        end_of_log: Callable[[], LogPosition],
        secret_store: SecretStore,
        statuses: Statuses,
    ) -> None:
        self._store = store
        self._end_of_log = end_of_log
        self._secret_store = secret_store
        self._statuses = statuses

    def routes(self) -> Routes:
        """Return the endpoints by path and method."""
        return {
            COLLECTION: {"GET": self.query, "POST": self.create, "OPTIONS": capabilities},
            RESOURCE: {
                "GET": self.retrieve,
                "PUT": self.update,
                "DELETE": self.delete,
                "OPTIONS": capabilities,
            },
            "/subscriptions/{id}/secrets": {"PUT": self.change_secrets},
            "/api/subscriptions/{id}/pause": {"POST": self.pause},
            "/api/subscriptions/{id}/resume": {"POST": self.resume},
        }

    # The operations of the specification

    async def create(self, request: Request) -> Response:
        """Create a subscription; it sees the events accepted from now on."""
        document = await read_document(request, _invalid)

        declared = access_of(request).allowing(self._store.declared)
        proposal = await compute(parse_subscription, document, declared)
        also, along = extra_rows(proposal, self._secret_store), access_of(request).along(proposal.id)
        created = await asyncio.to_thread(self._store.create, proposal, self._end_of_log, also, along)
        shown = with_made_keys(shown_new(created), proposal.secrets, made=_makes_keys(document))
        return _answer(created, shown, 201, location=f"/subscriptions/{created.id}")

    async def retrieve(self, request: Request) -> Response:
        """Show one subscription; 304 where the caller has it already."""
        found = await asyncio.to_thread(self._store.get, request.path_params["id"])
        if is_known(request, etag_of(found)):
            return Response(status_code=304, headers={"etag": etag_of(found)})
        return _answer(found, await self._shown(found))

    async def query(self, request: Request) -> Response:
        """List subscriptions in the order of their creation: a page with `limit`, otherwise all.

        Even all are never in memory at once. The link `next` leads to the next page.
        """
        given = Parameters(request, QUERY_PARAMETERS)
        after: Any = given.cursor("cursor", (int, str))
        limit = given.number("limit", 1, MOST_LISTED)
        query = SubscriptionQuery(
            among=access_of(request).namespaces,
            namespace=given.namespace("namespace"),
            channel=given.channel("channel"),
            sink=given.text("sink"),
            protocol=given.one_of("protocol", tuple(PROTOCOLS)),
            state=given.one_of("state", STATES),
            after=after,
            limit=limit or MOST_LISTED,
        )
        given.check()
        page, shown = await asyncio.to_thread(self._page, query)
        if limit is None:
            return StreamingResponse(
                self._stream(query, page, shown, access_of(request)), media_type="application/json"
            )
        return json_response(shown, headers=_link_to_next(request, page))

    def _page(self, query: SubscriptionQuery) -> tuple[Page, list[dict[str, Any]]]:
        page = self._store.page(query)
        return page, self._statuses.shown(page.subscriptions)

    async def _stream(
        self, query: SubscriptionQuery, page: Page, shown: list[dict[str, Any]], access: Access
    ) -> AsyncIterator[bytes]:
        """Write all pages as one array, beginning with the page that was read already."""
        mark = b"["
        while True:
            if shown:
                yield mark + msgspec.json.encode(shown)[1:-1]
                mark = b","
            if page.next is None:
                break
            await access.renew()
            page, shown = await asyncio.to_thread(self._page, replace(query, after=page.next))
        yield b"[]" if mark == b"[" else b"]"

    async def update(self, request: Request) -> Response:
        """Replace the whole subscription; its id stays."""
        document = await read_document(request, _invalid)

        declared = access_of(request).allowing(self._store.declared)

        def change(old: Subscription, secrets: Secrets | None) -> Subscription:
            check_match(request, old)
            return updated(old, secrets, document, declared)

        id_, check, along = request.path_params["id"], self._store.check_cost, access_of(request).along()
        done = await asyncio.to_thread(self._secret_store.change, id_, change, check, along)
        shown = with_made_keys(await self._shown(done), done.secrets, made=_makes_keys(document))
        return _answer(done, shown)

    async def delete(self, request: Request) -> Response:
        """Delete a subscription and show what it was."""

        def check(subscription: Subscription) -> None:
            check_match(request, subscription)

        id_, along = request.path_params["id"], access_of(request).along()
        ended = await asyncio.to_thread(self._store.delete, id_, self._end_of_log, check, along)
        return json_response(ended.document())

    # Beyond the specification

    async def change_secrets(self, request: Request) -> Response:
        """Change the secrets of a subscription; deliveries under way use the old ones."""
        wanted = await read_document(request, _invalid)

        def change(old: Subscription, secrets: Secrets | None) -> Subscription:
            check_match(request, old)
            return changed(old, secrets, wanted)

        id_, along = request.path_params["id"], access_of(request).along()
        done = await asyncio.to_thread(self._secret_store.change, id_, change, along=along)
        shown = with_made_keys(await self._shown(done), done.secrets, made=makes_keys(wanted))
        return _answer(done, shown)

    async def pause(self, request: Request) -> Response:
        """Hold the events of a subscription back until it is resumed."""
        paused = await asyncio.to_thread(
            self._store.pause, request.path_params["id"], access_of(request).along()
        )
        return _answer(paused, await self._shown(paused))

    async def resume(self, request: Request) -> Response:
        """Resume deliveries, even to a sink that had said it was gone."""
        resumed = await asyncio.to_thread(
            self._store.resume, request.path_params["id"], access_of(request).along()
        )
        return _answer(resumed, await self._shown(resumed))

    async def _shown(self, subscription: Subscription) -> dict[str, Any]:
        (shown,) = await asyncio.to_thread(self._statuses.shown, [subscription])
        return shown


def _answer(subscription: Subscription, shown: dict[str, Any], status: int = 200, **headers: str) -> Response:
    return json_response(shown, status, {"etag": etag_of(subscription), **headers})


def _makes_keys(document: dict[str, Any]) -> bool:
    return makes_keys(document.get("protocolsettings", {}))


def _link_to_next(request: Request, page: Page) -> dict[str, str]:
    """Return the link (RFC 8288) to the next page, with the other parameters of the request."""
    if page.next is None:
        return {}
    url = request.url.include_query_params(cursor=write_cursor(page.next))
    return {"link": f'<{url.path}?{url.query}>; rel="next"'}


def _invalid(problem: str) -> InvalidSubscription:
    return InvalidSubscription([("", problem)])

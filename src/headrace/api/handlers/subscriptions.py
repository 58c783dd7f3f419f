"""The CloudEvents Subscriptions API over HTTP, and secrets, pause and resume beyond it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response, StreamingResponse

from headrace.api.access.access import access_of
from headrace.api.access.permissions import OPEN, Target, subscribe
from headrace.api.answers.subscriptions import Capabilities
from headrace.api.answers.subscriptions import Subscription as ShownSubscription
from headrace.api.openapi.operation import LOCATION, Answer, Body, Header
from headrace.api.openapi.request_schemas import SECRETS_CHANGE, SUBSCRIPTION_PROPOSAL, SUBSCRIPTION_UPDATE
from headrace.api.requests.documents import json_response, read_document
from headrace.api.requests.etags import check_match, etag_of, is_known
from headrace.api.requests.threads import compute
from headrace.api.routes.parameters import Parameters, write_cursor
from headrace.api.routes.shared_parameters import IF_MATCH, IF_NONE_MATCH
from headrace.api.routes.tags import SUBSCRIPTIONS
from headrace.api.subscriptions.capabilities import COLLECTION, RESOURCE, methods, supported
from headrace.api.subscriptions.extra_rows import extra_rows
from headrace.api.subscriptions.query import (
    CHANNEL,
    CURSOR,
    LIMIT,
    MOST_LISTED,
    NAMESPACE,
    PROTOCOL,
    QUERY_PARAMETERS,
    SINK,
    STATE,
)
from headrace.api.subscriptions.status import shown_new
from headrace.errors import InvalidSubscription
from headrace.secrets.secrets import Secrets, makes_keys, with_made_keys
from headrace.subscriptions.secret_changes import changed
from headrace.subscriptions.store.query import SubscriptionQuery
from headrace.subscriptions.subscription import parse_subscription
from headrace.subscriptions.updates import updated

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request

    from headrace.api.access.access import Access
    from headrace.api.subscriptions.status import Statuses
    from headrace.events.positions import LogPosition
    from headrace.subscriptions.store.query import Page
    from headrace.subscriptions.store.secrets import SecretStore
    from headrace.subscriptions.store.store import Store
    from headrace.subscriptions.subscription import Subscription

_ETAG = Header(
    "ETag",
    "Stands for what its owner gave, as it is; not for its status.",
    {"type": "string", "pattern": '^"[0-9]+"$'},
)
_LINK = Header(
    "Link",
    'Where the page behind is (RFC 8288, `rel="next"`), where there is one.',
    {"type": "string"},
    required=False,
)
_ALLOW = Header("Allow", "The methods that the address takes.", {"type": "string"})
_SHOWN = {200: Answer("The subscription, with how it fares.", ShownSubscription, (_ETAG,))}
_CREATED = Answer(
    "The subscription, with defaults applied and an id.",
    ShownSubscription,
    (LOCATION, _ETAG),
    {
        "retrieve": "retrieveSubscription",
        "update": "updateSubscription",
        "delete": "deleteSubscription",
        "pause": "pauseSubscription",
        "resume": "resumeSubscription",
    },
)
_CAPABILITIES = {200: Answer("Operations, protocols, dialects and parameters.", Capabilities, (_ALLOW,))}


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

    # The operations of the specification

    @SUBSCRIPTIONS.route(
        f"POST {COLLECTION}",
        subscribe(Target.HANDLER),
        {201: _CREATED},
        records="subscription",
        body=Body(SUBSCRIPTION_PROPOSAL),
        problems={404},
    )
    async def create_subscription(self, request: Request) -> Response:
        """Create a subscription; it sees the events accepted from now on."""
        document = await read_document(request, _invalid)

        declared = access_of(request).allowing(self._store.declared)
        proposal = await compute(parse_subscription, document, declared)
        also, along = extra_rows(proposal, self._secret_store), access_of(request).along(proposal.id)
        created = await asyncio.to_thread(self._store.create, proposal, self._end_of_log, also, along)
        shown = with_made_keys(shown_new(created), proposal.secrets, made=_makes_keys(document))
        return _answer(created, shown, 201, location=f"/subscriptions/{created.id}")

    @SUBSCRIPTIONS.route(
        f"GET {RESOURCE}",
        subscribe(Target.SUBSCRIPTION),
        {**_SHOWN, 304: Answer("It is what was seen already. Its status may be another.", headers=(_ETAG,))},
        parameters=(IF_NONE_MATCH,),
    )
    async def retrieve_subscription(self, request: Request) -> Response:
        """Show one subscription."""
        found = await asyncio.to_thread(self._store.get, request.path_params["id"])
        if is_known(request, etag_of(found)):
            return Response(status_code=304, headers={"etag": etag_of(found)})
        return _answer(found, await self._shown(found))

    @SUBSCRIPTIONS.route(
        f"GET {COLLECTION}",
        subscribe(Target.HANDLER),
        Answer("The subscriptions, with how they fare.", list[ShownSubscription], (_LINK,)),
        parameters=QUERY_PARAMETERS,
    )
    async def query_subscriptions(self, request: Request) -> Response:
        """List subscriptions in the order of their creation, a page of them or all.

        All parameters that are given must hold. With `limit` the header `Link` leads to the next page.
        """
        given = Parameters(request, QUERY_PARAMETERS)
        limit = given.read(LIMIT)
        query = SubscriptionQuery(
            among=access_of(request).namespaces,
            namespace=given.read(NAMESPACE),
            channel=given.read(CHANNEL),
            sink=given.read(SINK),
            protocol=given.read(PROTOCOL),
            state=given.read(STATE),
            after=given.read(CURSOR),
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

    @SUBSCRIPTIONS.route(
        f"PUT {RESOURCE}",
        subscribe(Target.SUBSCRIPTION),
        _SHOWN,
        records="subscription",
        parameters=(IF_MATCH,),
        body=Body(SUBSCRIPTION_UPDATE),
        problems={412},
    )
    async def update_subscription(self, request: Request) -> Response:
        """Replace a subscription; its id stays.

        The whole object is replaced: what is left out has its default, and a secret that is left out goes. A mask, as
        it is shown, stands for the secret that is there, unless protocol, scheme, host or port of the sink are others.
        Channel and start can't change.
        """
        document = await read_document(request, _invalid)

        declared = access_of(request).allowing(self._store.declared)

        def change(old: Subscription, secrets: Secrets | None) -> Subscription:
            check_match(request, old)
            return updated(old, secrets, document, declared)

        id_, check, along = request.path_params["id"], self._store.check_cost, access_of(request).along()
        done = await asyncio.to_thread(self._secret_store.change, id_, change, check, along)
        shown = with_made_keys(await self._shown(done), done.secrets, made=_makes_keys(document))
        return _answer(done, shown)

    @SUBSCRIPTIONS.route(
        f"DELETE {RESOURCE}",
        subscribe(Target.SUBSCRIPTION),
        Answer("What it was.", ShownSubscription),
        records="subscription",
        parameters=(IF_MATCH,),
        problems={412},
    )
    async def delete_subscription(self, request: Request) -> Response:
        """End a subscription and show what it was."""

        def check(subscription: Subscription) -> None:
            check_match(request, subscription)

        id_, along = request.path_params["id"], access_of(request).along()
        ended = await asyncio.to_thread(self._store.delete, id_, self._end_of_log, check, along)
        return json_response(ended.document())

    @SUBSCRIPTIONS.route(f"OPTIONS {COLLECTION}", OPEN, _CAPABILITIES)
    async def discover_subscriptions(self, _: Request) -> Response:
        """Tell what the Subscriptions API supports here."""
        return json_response(supported(), headers={"allow": ", ".join(methods(COLLECTION))})

    @SUBSCRIPTIONS.route(f"OPTIONS {RESOURCE}", OPEN, _CAPABILITIES)
    async def discover_subscription(self, _: Request) -> Response:
        """Tell what the Subscriptions API supports here; for any id the same."""
        return json_response(supported(), headers={"allow": ", ".join(methods(RESOURCE))})

    # Beyond the specification

    @SUBSCRIPTIONS.route(
        "PUT /subscriptions/{id}/secrets",
        subscribe(Target.SUBSCRIPTION),
        Answer("The subscription; a key that was made is shown, once.", ShownSubscription, (_ETAG,)),
        records="subscription",
        parameters=(IF_MATCH,),
        body=Body(SECRETS_CHANGE),
        problems={412},
    )
    async def change_secrets(self, request: Request) -> Response:
        """Give a subscription other secrets; deliveries under way use the old ones."""
        wanted = await read_document(request, _invalid)

        def change(old: Subscription, secrets: Secrets | None) -> Subscription:
            check_match(request, old)
            return changed(old, secrets, wanted)

        id_, along = request.path_params["id"], access_of(request).along()
        done = await asyncio.to_thread(self._secret_store.change, id_, change, along=along)
        shown = with_made_keys(await self._shown(done), done.secrets, made=makes_keys(wanted))
        return _answer(done, shown)

    @SUBSCRIPTIONS.route(
        "POST /api/subscriptions/{id}/pause", subscribe(Target.SUBSCRIPTION), _SHOWN, records="subscription"
    )
    async def pause_subscription(self, request: Request) -> Response:
        """Hold the events of a subscription back until it is resumed."""
        paused = await asyncio.to_thread(
            self._store.pause, request.path_params["id"], access_of(request).along()
        )
        return _answer(paused, await self._shown(paused))

    @SUBSCRIPTIONS.route(
        "POST /api/subscriptions/{id}/resume", subscribe(Target.SUBSCRIPTION), _SHOWN, records="subscription"
    )
    async def resume_subscription(self, request: Request) -> Response:
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

"""API keys, quotas and the audit log.

Changes of keys and quotas are recorded in their own transaction, even where the settings switch the audit log off.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from headrace.api.access.access import access_of
from headrace.api.access.permissions import Target, admin, known, subscribe
from headrace.api.answers.access import ChangePage, Key, NamespaceQuotas, NewKey, Principal, QuotaList
from headrace.api.openapi.operation import LOCATION, Answer, Body
from headrace.api.requests.documents import compute_json, json_response, read_document
from headrace.api.requests.threads import compute
from headrace.api.routes.parameters import Parameters, cursor, namespace, text, write_cursor
from headrace.api.routes.shared_parameters import LIMIT, SINCE, UNTIL
from headrace.api.routes.tags import ACCESS
from headrace.auth.audit import entries as audit
from headrace.auth.audit.entries import AuditEntry, AuditQuery, difference
from headrace.auth.grants import show_grants
from headrace.auth.keys.requests import KEY_FORM, parse_key_request
from headrace.auth.quota_requests import QUOTA_FORM, parse_overrides
from headrace.subscriptions.channels.name import check_channel
from headrace.subscriptions.quotas.quotas import Overrides

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.auth.audit.log import AuditLog
    from headrace.auth.keys.store import KeyStore
    from headrace.subscriptions.quotas.quotas import Quotas
    from headrace.subscriptions.quotas.store import QuotaStore

_NAMESPACE = namespace("namespace", "")
_WHO = text("who", "As an entry says it: `key:…`.")
_KIND = text("kind", "Of what: `subscription`, `channel`, `key`.")
_OBJECT = text("object", "The id or the name of what was changed.")
_CURSOR = cursor(int)
_AUDIT = (_NAMESPACE, _WHO, _KIND, _OBJECT, SINCE, UNTIL, LIMIT, _CURSOR)
_KEY = {200: Answer("The key.", Key)}
_QUOTAS = {200: Answer("Quotas.", NamespaceQuotas)}


class AccessHandler:
    """The databases' calls block, so they run in threads."""

    def __init__(self, keys: KeyStore, quotas: QuotaStore, log: AuditLog, defaults: Quotas) -> None:
        self._keys = keys
        self._quotas = quotas
        self._audit = log
        self._defaults = defaults

    @ACCESS.route("GET /api/whoami", known(), Answer("The caller.", Principal))
    async def who_am_i(self, request: Request) -> Response:
        """Say as whom the caller is known, and what they may do."""
        principal = access_of(request).principal
        return json_response({"id": principal.id, "grants": show_grants(principal.grants)})

    # Keys

    @ACCESS.route("GET /api/keys", admin(Target.HANDLER), Answer("Keys, without their secrets.", list[Key]))
    async def list_keys(self, request: Request) -> Response:
        """List the API keys that are valid only in the caller's namespaces, the oldest first."""
        seen = access_of(request).namespaces
        found = await asyncio.to_thread(self._keys.all)
        return await compute_json(
            lambda: [
                each.document()
                for each in found
                if seen is None or (each.namespaces is not None and each.namespaces <= seen)
            ]
        )

    @ACCESS.route(
        "POST /api/keys",
        admin(Target.HANDLER),
        {201: Answer("The key.", NewKey, (LOCATION,), {"look": "showKey", "revoke": "revokeKey"})},
        body=Body(KEY_FORM.schema),
    )
    async def create_key(self, request: Request) -> Response:
        """Make an API key, which is shown this once."""
        wanted = await compute(parse_key_request, await read_document(request))
        access = access_of(request)
        for each in wanted.grants:
            access.require(each)  # callers can grant only roles that they have
        key, record = wanted.make(access.principal.id, time.time())
        await asyncio.to_thread(
            self._keys.add, record, _entry(request, 201, "key", key.id, record.only_namespace)
        )
        shown = record.document() | {"key": key.text}
        return json_response(shown, 201, {"location": f"/api/keys/{key.id}", "cache-control": "no-store"})

    @ACCESS.route("GET /api/keys/{id}", admin(Target.KEY), _KEY)
    async def show_key(self, request: Request) -> Response:
        """Show what is known of an API key."""
        found = await asyncio.to_thread(self._keys.get, request.path_params["id"])
        return json_response(found.document())

    @ACCESS.route("DELETE /api/keys/{id}", admin(Target.KEY), _KEY, problems={409})
    async def revoke_key(self, request: Request) -> Response:
        """Revoke an API key."""
        found = await asyncio.to_thread(self._keys.get, request.path_params["id"])
        entry = _entry(request, 200, "key", found.id, found.only_namespace)
        return json_response((await asyncio.to_thread(self._keys.revoke, found.id, entry)).document())

    # Quotas

    @ACCESS.route("GET /api/quotas", admin(Target.HANDLER), Answer("Quotas.", QuotaList))
    async def list_quotas(self, request: Request) -> Response:
        """Show the default quotas, and those that namespaces have of their own."""
        seen = access_of(request).namespaces
        found = await asyncio.to_thread(self._quotas.all)

        def shown() -> dict[str, Any]:
            own = {name: each.document() for name, each in found.items() if seen is None or name in seen}
            return {"defaults": self._defaults.document(), "namespaces": own}

        return await compute_json(shown)

    @ACCESS.route("GET /api/quotas/{namespace}", subscribe(Target.PATH), _QUOTAS, problems={400})
    async def show_quotas(self, request: Request) -> Response:
        """Show what a namespace may have, and what it has."""
        name = request.path_params["namespace"]
        check_channel(name, "x")
        return json_response(await asyncio.to_thread(self._shown_quotas, name))

    @ACCESS.route("PUT /api/quotas/{namespace}", admin(Target.EVERY), _QUOTAS, body=Body(QUOTA_FORM.schema))
    async def set_quotas(self, request: Request) -> Response:
        """Set the quotas of a namespace; for the rest the defaults hold."""
        return await self._change_quotas(
            request, await compute(parse_overrides, await read_document(request))
        )

    @ACCESS.route("DELETE /api/quotas/{namespace}", admin(Target.EVERY), _QUOTAS, problems={400})
    async def reset_quotas(self, request: Request) -> Response:
        """Reset a namespace to the default quotas."""
        return await self._change_quotas(request, Overrides())

    async def _change_quotas(self, request: Request, overrides: Overrides) -> Response:
        name = request.path_params["namespace"]
        check_channel(name, "x")
        before = (await asyncio.to_thread(self._quotas.all)).get(name, Overrides())
        change = difference(before.document(), overrides.document())
        entry = _entry(request, 200, "quotas", name, name, change)
        await asyncio.to_thread(
            self._quotas.set, name, overrides, lambda connection: audit.write(connection, [entry])
        )
        return json_response(await asyncio.to_thread(self._shown_quotas, name))

    def _shown_quotas(self, name: str) -> NamespaceQuotas:
        own = self._quotas.all().get(name, Overrides())
        return {
            "namespace": name,
            "quotas": own.over(self._defaults).document(),
            "own": own.document(),
            "used": self._quotas.used(name),
        }

    # The audit log

    @ACCESS.route("GET /api/audit", admin(Target.HANDLER), Answer("A page.", ChangePage), parameters=_AUDIT)
    async def list_changes(self, request: Request) -> Response:
        """List what was changed by whom, the newest first."""
        given = Parameters(request, _AUDIT)
        before, limit = given.read(_CURSOR), given.read(LIMIT)
        seen, wanted = access_of(request).namespaces, given.read(_NAMESPACE)
        query = AuditQuery(
            namespaces=seen if wanted is None else {wanted} if seen is None or wanted in seen else (),
            who=given.read(_WHO),
            kind=given.read(_KIND),
            object=given.read(_OBJECT),
            since=given.read(SINCE),
            until=given.read(UNTIL),
            before=None if before is None else before[0],
            limit=limit,
        )
        given.check()
        found = await asyncio.to_thread(self._audit.find, query)
        shown: dict[str, Any] = {"changes": [each.document() for each in found]}
        if len(found) == limit:
            shown["next"] = write_cursor((found[-1].number,))
        return json_response(shown)


def _entry(
    request: Request,
    outcome: int,
    kind: str,
    object_: str,
    owner: str | None,
    change: dict[str, Any] | None = None,
) -> AuditEntry:
    client = request.client.host if request.client else ""
    action = f"{request.method} {request.url.path}"
    return AuditEntry(
        access_of(request).principal.id, client, action, kind, object_, owner, outcome, change or {}
    )

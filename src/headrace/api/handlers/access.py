"""API keys, quotas and the audit log.

Changes of keys and quotas are recorded in their own transaction, even where the settings switch the audit log off.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from headrace.api.access.access import access_of
from headrace.api.requests.documents import compute_json, json_response, read_document
from headrace.api.requests.parameters import Parameters, write_cursor
from headrace.api.requests.threads import compute
from headrace.auth.audit import entries as audit
from headrace.auth.audit.entries import AuditEntry, AuditQuery, difference
from headrace.auth.grants import show_grants
from headrace.auth.keys.requests import parse_key_request
from headrace.auth.quota_requests import parse_overrides
from headrace.subscriptions.channels.name import check_channel
from headrace.subscriptions.quotas.quotas import Overrides

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.api.handlers.handler import Routes
    from headrace.auth.audit.log import AuditLog
    from headrace.auth.keys.store import KeyStore
    from headrace.subscriptions.quotas.quotas import Quotas
    from headrace.subscriptions.quotas.store import QuotaStore

_SHOWN, _MOST_SHOWN = 100, 1000
_AUDIT = ("namespace", "who", "kind", "object", "since", "until", "limit", "cursor")


class AccessHandler:
    """The databases' calls block, so they run in threads."""

    def __init__(self, keys: KeyStore, quotas: QuotaStore, log: AuditLog, defaults: Quotas) -> None:
        self._keys = keys
        self._quotas = quotas
        self._audit = log
        self._defaults = defaults

    def routes(self) -> Routes:
        """Return the endpoints by path and method."""
        return {
            "/api/whoami": {"GET": self.whoami},
            "/api/keys": {"GET": self.keys, "POST": self.create_key},
            "/api/keys/{id}": {"GET": self.key, "DELETE": self.revoke_key},
            "/api/quotas": {"GET": self.list_quotas},
            "/api/quotas/{namespace}": {
                "GET": self.quotas,
                "PUT": self.set_quotas,
                "DELETE": self.reset_quotas,
            },
            "/api/audit": {"GET": self.audit},
        }

    async def whoami(self, request: Request) -> Response:
        """Show the identity and the grants of the caller."""
        principal = access_of(request).principal
        return json_response({"id": principal.id, "grants": show_grants(principal.grants)})

    # Keys

    async def keys(self, request: Request) -> Response:
        """List the keys that are valid only in the caller's namespaces."""
        seen = access_of(request).namespaces
        found = await asyncio.to_thread(self._keys.all)
        return await compute_json(
            lambda: [
                each.document()
                for each in found
                if seen is None or (each.namespaces is not None and each.namespaces <= seen)
            ]
        )

    async def create_key(self, request: Request) -> Response:
        """Create a key, and show it this once. Callers can grant only roles that they have."""
        wanted = await compute(parse_key_request, await read_document(request))
        access = access_of(request)
        for namespace in wanted.grants:
            access.require(namespace)
        key, record = wanted.make(access.principal.id, time.time())
        await asyncio.to_thread(
            self._keys.add, record, _entry(request, 201, "key", key.id, record.only_namespace)
        )
        shown = record.document() | {"key": key.text}
        return json_response(shown, 201, {"location": f"/api/keys/{key.id}", "cache-control": "no-store"})

    async def key(self, request: Request) -> Response:
        """Show a key, without its secret."""
        found = await asyncio.to_thread(self._keys.get, request.path_params["id"])
        return json_response(found.document())

    async def revoke_key(self, request: Request) -> Response:
        """Revoke a key."""
        found = await asyncio.to_thread(self._keys.get, request.path_params["id"])
        entry = _entry(request, 200, "key", found.id, found.only_namespace)
        return json_response((await asyncio.to_thread(self._keys.revoke, found.id, entry)).document())

    # Quotas

    async def list_quotas(self, request: Request) -> Response:
        """Show the default quotas, and those set for namespaces."""
        seen = access_of(request).namespaces
        found = await asyncio.to_thread(self._quotas.all)

        def shown() -> dict[str, Any]:
            own = {name: each.document() for name, each in found.items() if seen is None or name in seen}
            return {"defaults": self._defaults.document(), "namespaces": own}

        return await compute_json(shown)

    async def quotas(self, request: Request) -> Response:
        """Show the quotas of a namespace, and how much of them it uses."""
        namespace = request.path_params["namespace"]
        check_channel(namespace, "x")
        return json_response(await asyncio.to_thread(self._shown_quotas, namespace))

    async def set_quotas(self, request: Request) -> Response:
        """Set the quotas of a namespace; for the rest the defaults hold."""
        return await self._change_quotas(
            request, await compute(parse_overrides, await read_document(request))
        )

    async def reset_quotas(self, request: Request) -> Response:
        """Reset a namespace to the default quotas."""
        return await self._change_quotas(request, Overrides())

    async def _change_quotas(self, request: Request, overrides: Overrides) -> Response:
        namespace = request.path_params["namespace"]
        check_channel(namespace, "x")
        before = (await asyncio.to_thread(self._quotas.all)).get(namespace, Overrides())
        change = difference(before.document(), overrides.document())
        entry = _entry(request, 200, "quotas", namespace, namespace, change)
        await asyncio.to_thread(
            self._quotas.set, namespace, overrides, lambda connection: audit.write(connection, [entry])
        )
        return json_response(await asyncio.to_thread(self._shown_quotas, namespace))

    def _shown_quotas(self, namespace: str) -> dict[str, Any]:
        own = self._quotas.all().get(namespace, Overrides())
        return {
            "namespace": namespace,
            "quotas": own.over(self._defaults).document(),
            "own": own.document(),
            "used": self._quotas.used(namespace),
        }

    # The audit log

    async def audit(self, request: Request) -> Response:
        """List changes, the newest first; `next` is the cursor of the next page."""
        given = Parameters(request, _AUDIT)
        cursor, limit = given.cursor("cursor", (int,)), given.number("limit", 1, _MOST_SHOWN) or _SHOWN
        seen, wanted = access_of(request).namespaces, given.namespace("namespace")
        query = AuditQuery(
            namespaces=seen if wanted is None else {wanted} if seen is None or wanted in seen else (),
            who=given.text("who"),
            kind=given.text("kind"),
            object=given.text("object"),
            since=given.seconds("since"),
            until=given.seconds("until"),
            before=None if cursor is None else cursor[0],
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
    namespace: str | None,
    change: dict[str, Any] | None = None,
) -> AuditEntry:
    client = request.client.host if request.client else ""
    action = f"{request.method} {request.url.path}"
    return AuditEntry(
        access_of(request).principal.id, client, action, kind, object_, namespace, outcome, change or {}
    )

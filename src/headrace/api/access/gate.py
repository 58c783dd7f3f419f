"""The gate before every endpoint: who is asking, may they, and what did they change.

Where authentication is off, everybody is let in as `ANYONE`, and changes are recorded all the same.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from headrace.api.access.access import Access, give_access
from headrace.api.access.changes import Change, made_at
from headrace.api.access.permissions import BY_ID, OPEN, Permission, Target
from headrace.api.access.refusals import Refusals
from headrace.api.requests.origins import is_foreign
from headrace.auth.audit.log import AuditDraft
from headrace.auth.principal import ANYONE, STRANGER
from headrace.auth.roles import EVERYWHERE, Role
from headrace.errors import CrossOrigin, Forbidden, HeadraceError, NotFound, Unauthenticated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.api.access.recorder import Recorder
    from headrace.api.access.resources import Finders, Resource
    from headrace.api.routes.route import Endpoint, Route
    from headrace.auth.authentication import Authentication
    from headrace.auth.principal import Principal

_UNCHANGED = 400
_FAILED = 500
_METRICS = "/metrics"
# Stored in the delivery database, which may be another one: their entries are written before the change.
_ELSEWHERE = frozenset({"redrive", "test-send"})


class Gate:
    """For one event loop. Without authentication everybody may do everything; without a recorder nothing is audited."""

    def __init__(
        self,
        authentication: Authentication | None = None,
        finders: Finders | None = None,
        recorder: Recorder | None = None,
        *,
        open_publishing: bool = False,
        open_metrics: bool = False,
    ) -> None:
        self._authentication = authentication
        self._finders = finders or {}
        self._recorder = recorder
        self._open_publishing = open_publishing or authentication is None
        self._open_metrics = open_metrics
        self._refusals = Refusals()

    # Events

    async def admit_events(self, namespace: str, headers: list[tuple[bytes, bytes]]) -> None:
        """Let a producer in, or raise: before it is told anything about the channel."""
        if self._open_publishing or self._authentication is None:
            return
        try:
            principal = await self._authentication.principal(headers)
            if not principal.may(Role.PUBLISH, namespace):
                raise Forbidden(principal.id, Role.PUBLISH, namespace)
        except (Unauthenticated, Forbidden) as refusal:
            self._refusals.count("events", refusal)
            raise

    # Everything else

    def guard(self, route: Route, endpoint: Endpoint) -> Endpoint:
        """Put the gate before the endpoint of a route."""
        permission = OPEN if self._open_metrics and route.path == _METRICS else route.permission
        records = route.records if self._recorder is not None else None

        async def answer(request: Request) -> Response:
            if not permission.is_open and is_foreign(request):
                raise CrossOrigin
            access, found = await self._admit(request, permission, records)
            if self._authentication is not None:
                access.renewed_by(lambda: self._admit_again(request, permission))
            give_access(request, access)
            if records is None:
                return self._checked(await endpoint(request), permission, access)
            return await self._recorded(request, endpoint, permission, records, access, found)

        return answer

    async def _admit(
        self, request: Request, permission: Permission, records: str | None = None
    ) -> tuple[Access, Resource | None]:
        try:
            return await self._admitted(request, permission, records)
        except (Unauthenticated, Forbidden) as refusal:
            self._refusals.count("requests", refusal)
            raise

    async def _admit_again(self, request: Request, permission: Permission) -> Access:
        return (await self._admit(request, permission))[0]

    async def _admitted(
        self, request: Request, permission: Permission, records: str | None
    ) -> tuple[Access, Resource | None]:
        principal = await self._principal(request, permission)
        access = Access(principal, permission.role)
        if permission.is_open:
            return access, None
        if permission.target is Target.EVERY and not principal.may_everywhere(permission.role or Role.ADMIN):
            raise Forbidden(principal.id, str(permission.role), EVERYWHERE)
        if permission.role is not None and principal.namespaces(permission.role) == frozenset():
            raise Forbidden(principal.id, permission.role, request.path_params.get("namespace", EVERYWHERE))
        if permission.target in (Target.PATH, Target.CHANNEL):
            access.require(request.path_params["namespace"])
        found = await self._find(request.path_params, permission, records, access)
        if found is not None and not _is_seen(found, access):
            raise NotFound(permission.target.name.lower(), request.path_params["id"])
        return access, found

    async def _principal(self, request: Request, permission: Permission) -> Principal:
        if self._authentication is None or (permission.is_open and permission.role is None):
            return ANYONE
        try:
            return await self._authentication.principal(request.scope["headers"])
        except Unauthenticated:
            if permission.is_open:
                return STRANGER
            raise

    async def _find(
        self, params: Mapping[str, str], permission: Permission, records: str | None, access: Access
    ) -> Resource | None:
        """Find the resource that the request names, where its owner or its state before a change is needed."""
        is_narrow = permission.target in BY_ID and access.namespaces is not None
        if permission.target not in self._finders:
            if is_narrow:  # its owner is unknown, so nobody may see it
                raise Forbidden(access.principal.id, str(permission.role), EVERYWHERE)
            return None
        if not is_narrow and records is None:
            return None
        resource_id = params["id"] if "id" in params else f"{params['namespace']}/{params['name']}"
        return await asyncio.to_thread(self._finders[permission.target], resource_id)

    def _checked(self, response: Response, permission: Permission, access: Access) -> Response:
        """Withhold an answer whose endpoint never asked which namespaces count."""
        if self._authentication is not None and permission.target is Target.HANDLER and not access.was_asked:
            raise RuntimeError("the endpoint never checked which namespaces count, so its answer is withheld")
        return response

    # The audit log

    async def _recorded(
        self,
        request: Request,
        endpoint: Endpoint,
        permission: Permission,
        records: str,
        access: Access,
        before: Resource | None,
    ) -> Response:
        """Make a change; record its outcome before it is answered.

        The endpoint hands `access.along()` to whoever makes the change, so that its entry is in the same transaction.
        """
        assert self._recorder is not None  # noqa: S101  checked by the caller
        change = Change(request, records, access, before)
        draft = AuditDraft(change.entries)
        if records in _ELSEWHERE:
            await self._recorder.draft(draft)
        else:
            access.recorded_by(draft)
        status, location = _FAILED, ""
        try:
            response = self._checked(await endpoint(request), permission, access)
            status, location = response.status_code, response.headers.get("location", "")
        except HeadraceError as error:
            status = error.http_status
            raise
        finally:
            if draft.is_written or status < _UNCHANGED or status >= _FAILED:
                named = change.named or draft.makes or made_at(request.url.path, location)
                after = await self._after(permission, records, named) if status < _UNCHANGED else None
                await self._recorder.complete(draft, change.entries(named, after, status))
        return response

    async def _after(self, permission: Permission, records: str, named: str) -> Resource | None:
        target = Target.SUBSCRIPTION if records == "subscription" else permission.target
        if target not in self._finders or not named:
            return None
        try:
            return await asyncio.to_thread(self._finders[target], named)
        except HeadraceError:
            return None  # it was deleted


def _is_seen(resource: Resource, access: Access) -> bool:
    seen = access.namespaces
    return seen is None or (resource.namespaces is not None and seen.issuperset(resource.namespaces))


OPEN_GATE = Gate()
"""Lets everybody in, and records nothing."""

"""What the caller of one request may see and do, for the endpoint that answers it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from headrace.auth.principal import ANYONE
from headrace.auth.roles import Role
from headrace.errors import Forbidden, Unauthenticated

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from headrace.auth.audit.log import AuditDraft
    from headrace.auth.principal import Principal
    from headrace.subscriptions.channels.name import ChannelName

_SCOPE_KEY = "headrace.access"
_Found = TypeVar("_Found")
_RENEW_SECONDS = 1.0


class Access:
    """Belongs to one request. `was_asked` says whether the endpoint has checked which namespaces count."""

    def __init__(self, principal: Principal, role: Role | None) -> None:
        self.principal = principal
        self.role = role
        self.about: set[str] = set()
        self.was_asked = False
        self._draft: AuditDraft | None = None
        self._gate: Callable[[], Awaitable[Access]] | None = None
        self._renewed = time.monotonic()

    def recorded_by(self, draft: AuditDraft) -> None:
        """Set what `along` returns."""
        self._draft = draft

    def along(self, makes: str = "") -> AuditDraft | None:
        """Return the audit entry, to be written in the transaction of the change; None where nothing is recorded.

        `makes` is the id of what the request creates, where that is known beforehand.
        """
        if self._draft is not None:
            self._draft.makes = makes
        return self._draft

    def renewed_by(self, gate: Callable[[], Awaitable[Access]]) -> None:
        """Set what `renew` asks; what it raises ends the answer."""
        self._gate = gate

    async def renew(self) -> None:
        """Ask the gate again, at most once a second: no answer outlasts the key or token it was for.

        An endpoint that takes longer than that calls this between two parts of its answer.
        """
        if self._gate is None or time.monotonic() < self._renewed + _RENEW_SECONDS:
            return
        again = await self._gate()
        if again.principal.grants != self.principal.grants:
            raise Unauthenticated("what the caller may do has changed meanwhile; ask again")
        self._renewed = time.monotonic()

    @property
    def namespaces(self) -> frozenset[str] | None:
        """The namespaces that a list may show; None for all."""
        self.was_asked = True
        if self.role is not None:
            return self.principal.namespaces(self.role)
        each = [self.principal.namespaces(role) for role in Role]
        return None if None in each else frozenset().union(*(some for some in each if some is not None))

    def sees(self, namespace: str | None) -> bool:
        """Tell whether something of a namespace may be shown; of no namespace, only to those who see all."""
        seen = self.namespaces
        return seen is None or namespace in seen

    def require(self, namespace: str, role: Role | None = None) -> None:
        """Raise Forbidden unless the caller has the role, by default the route's, in the namespace."""
        self.was_asked = True
        self.about.add(namespace)
        role = role or self.role
        roles = self.principal.roles_in(namespace)
        if not roles or (role is not None and role not in roles):
            raise Forbidden(self.principal.id, role or "publish", namespace)

    def allowing(self, find: Callable[[ChannelName], _Found]) -> Callable[[ChannelName], _Found]:
        """Return the same function of a channel, which raises Forbidden where the caller may not use the channel."""

        def find_if_allowed(channel: ChannelName) -> _Found:
            self.require(channel.namespace)
            return find(channel)

        return find_if_allowed


def access_of(request: Request) -> Access:
    """Return the access that the gate granted. Without a gate everybody may do everything."""
    found: Access = request.scope.setdefault(_SCOPE_KEY, Access(ANYONE, None))
    return found


def give_access(request: Request, access: Access) -> None:
    """Attach the access to the request, for its endpoint."""
    request.scope[_SCOPE_KEY] = access

"""What whoever asks may see and do in one request, for the handler that answers it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from headrace.auth.principal import ANYONE
from headrace.auth.roles import Role
from headrace.errors import Forbidden, Unauthenticated

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from headrace.auth.principal import Principal
    from headrace.subscriptions.channels.name import ChannelName

_PLACE = "headrace.access"
_Found = TypeVar("_Found")
_RENEW_SECONDS = 1.0


class Access:
    """Belongs to one request. `was_asked` says whether anybody looked at which namespaces count."""

    def __init__(self, principal: Principal, role: Role | None) -> None:
        self.principal = principal
        self.role = role
        self.about: set[str] = set()
        self.was_asked = False
        self.makes = ""
        """The id of what the request is about to make, where that is known before."""
        self._gate: Callable[[], Awaitable[Access]] | None = None
        self._renewed = time.monotonic()

    def renewed_by(self, gate: Callable[[], Awaitable[Access]]) -> None:
        """Say who decides anew whether they may; what that raises ends the answer."""
        self._gate = gate

    async def renew(self) -> None:
        """Ask the gate again, where that was a second ago or longer: no answer outlasts the key or token it was for.

        Whoever takes longer than that to answer does it between two parts of the answer.
        """
        if self._gate is None or time.monotonic() < self._renewed + _RENEW_SECONDS:
            return
        again = await self._gate()
        if again.principal.grants != self.principal.grants:
            raise Unauthenticated("what the caller may do has changed meanwhile; ask again")
        self._renewed = time.monotonic()

    @property
    def namespaces(self) -> frozenset[str] | None:
        """The namespaces of which a list may show anything; None for all."""
        self.was_asked = True
        if self.role is not None:
            return self.principal.namespaces(self.role)
        each = [self.principal.namespaces(role) for role in Role]
        return None if None in each else frozenset().union(*(some for some in each if some is not None))

    def sees(self, namespace: str | None) -> bool:
        """Tell whether something of a namespace may be shown; what is of none is for those who see all."""
        seen = self.namespaces
        return seen is None or namespace in seen

    def require(self, namespace: str, role: Role | None = None) -> None:
        """Refuse what is about a namespace in which they have no such role; without one, that of the route."""
        self.was_asked = True
        self.about.add(namespace)
        role = role or self.role
        roles = self.principal.roles_in(namespace)
        if not roles or (role is not None and role not in roles):
            raise Forbidden(self.principal.id, role or "publish", namespace)

    def allowing(self, look: Callable[[ChannelName], _Found]) -> Callable[[ChannelName], _Found]:
        """Return the same look at a channel, for channels of namespaces in which they may do this."""

        def look_if_allowed(channel: ChannelName) -> _Found:
            self.require(channel.namespace)
            return look(channel)

        return look_if_allowed


def access_of(request: Request) -> Access:
    """Return what the gate found out. Where there is no gate, nobody is asked anything."""
    found: Access = request.scope.setdefault(_PLACE, Access(ANYONE, None))
    return found


def give_access(request: Request, access: Access) -> None:
    """Let the handler know."""
    request.scope[_PLACE] = access

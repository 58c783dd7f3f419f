"""Principals: who makes a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.auth.roles import ALL_ROLES, EVERYWHERE, Role, expand

if TYPE_CHECKING:
    from headrace.auth.roles import Grants

_NONE: frozenset[Role] = frozenset()


@dataclass(frozen=True, slots=True)
class Principal:
    """`id` is their name in the audit log: `key:…`, `token:issuer#subject`, `command:user@machine`."""

    id: str
    grants: Grants = field(default_factory=dict)

    def may(self, role: Role, namespace: str) -> bool:
        """Tell whether they have a role in a namespace."""
        return role in self.roles_in(namespace)

    def roles_in(self, namespace: str) -> frozenset[Role]:
        """Return their roles in a namespace."""
        return expand(self.grants.get(namespace, _NONE) | self.grants.get(EVERYWHERE, _NONE))

    def may_everywhere(self, role: Role) -> bool:
        """Tell whether they have a role in every namespace."""
        return role in expand(self.grants.get(EVERYWHERE, _NONE))

    def namespaces(self, role: Role) -> frozenset[str] | None:
        """Return the namespaces where they have a role; None for all."""
        if self.may_everywhere(role):
            return None
        return frozenset(name for name, roles in self.grants.items() if role in expand(roles))


ANYONE = Principal("anyone", {EVERYWHERE: ALL_ROLES})
"""Every caller, where authentication is off."""

STRANGER = Principal("a stranger")
"""A caller without credentials, who may use only what is open to everybody."""

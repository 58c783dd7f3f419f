"""Who is asking."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.auth.roles import ALL_ROLES, EVERYWHERE, Role, expand

if TYPE_CHECKING:
    from headrace.auth.roles import Grants

_NONE: frozenset[Role] = frozenset()


@dataclass(frozen=True, slots=True)
class Principal:
    """`id` is what the record of changes calls them: `key:…`, `token:issuer#subject`, `command:user@machine`."""

    id: str
    grants: Grants = field(default_factory=dict)

    def may(self, role: Role, namespace: str) -> bool:
        """Tell whether they have a role in a namespace."""
        return role in self.roles_in(namespace)

    def roles_in(self, namespace: str) -> frozenset[Role]:
        """Return what they are in a namespace."""
        return expand(self.grants.get(namespace, _NONE) | self.grants.get(EVERYWHERE, _NONE))

    def may_everywhere(self, role: Role) -> bool:
        """Tell whether they have a role in every namespace."""
        return role in expand(self.grants.get(EVERYWHERE, _NONE))

    def namespaces(self, role: Role) -> frozenset[str] | None:
        """Return where they have a role; None for everywhere."""
        if self.may_everywhere(role):
            return None
        return frozenset(name for name, roles in self.grants.items() if role in expand(roles))


ANYONE = Principal("anyone", {EVERYWHERE: ALL_ROLES})
"""Whoever it is, where nobody is asked who they are."""

STRANGER = Principal("a stranger")
"""Who didn't say who they are, and may do nothing that isn't open to everybody."""

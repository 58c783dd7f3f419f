"""Roles, and the namespaces for which they are granted."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

EVERYWHERE = "*"
"""Stands for every namespace, including future ones."""


class Role(StrEnum):
    """What a principal may do in a namespace; `docs/security.md` lists it route by route."""

    PUBLISH = "publish"
    """Send events to its channels, and read their interest."""
    SUBSCRIBE = "subscribe"
    """Manage its subscriptions, their deliveries and its history."""
    ADMIN = "admin"
    """Both, and manage its channels, keys, quotas and audit log."""


Grants = Mapping[str, frozenset[Role]]
"""Roles by namespace, or by `EVERYWHERE`."""

ALL_ROLES = frozenset(Role)


def expand(roles: frozenset[Role]) -> frozenset[Role]:
    """Add implied roles: an admin may publish and subscribe."""
    return ALL_ROLES if Role.ADMIN in roles else roles

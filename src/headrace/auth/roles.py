"""Roles, and for which namespaces somebody has them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

EVERYWHERE = "*"
"""Stands for every namespace, those that will be made later included."""


class Role(StrEnum):
    """What one may do in a namespace. `docs/security.md` says it route by route."""

    PUBLISH = "publish"
    """Send events to its channels, and ask what is of interest there."""
    SUBSCRIBE = "subscribe"
    """Everything about its subscriptions and their deliveries, and about its past."""
    ADMIN = "admin"
    """Both, and its channels, keys and quotas and the record of its changes."""


Grants = Mapping[str, frozenset[Role]]
"""Roles by namespace, or by `EVERYWHERE`."""

ALL_ROLES = frozenset(Role)


def expand(roles: frozenset[Role]) -> frozenset[Role]:
    """Add what roles bring with them: an admin may publish and subscribe."""
    return ALL_ROLES if Role.ADMIN in roles else roles

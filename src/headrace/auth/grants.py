"""Grants as documents: `{"shop": ["publish", "subscribe"]}`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from headrace.auth.roles import EVERYWHERE, Grants, Role
from headrace.documents.schemas import Named
from headrace.errors import InvalidChannel
from headrace.subscriptions.channels.name import LABEL_PATTERN, check_channel

if TYPE_CHECKING:
    from headrace.documents.faults import Faults

_FORM = 'has to be an object of namespaces with lists of roles, {"shop": ["publish"]}'
GRANTS = Named(
    "Grants",
    {
        "type": "object",
        "description": "Roles by namespace; `*` stands for every namespace.",
        "minProperties": 1,
        "propertyNames": {"pattern": rf"^({re.escape(EVERYWHERE)}|{LABEL_PATTERN})$"},
        "additionalProperties": {"type": "array", "minItems": 1, "items": {"enum": list(Role)}},
        "examples": [{"shop": ["publish", "subscribe"]}],
    },
)


def show_grants(grants: Grants) -> dict[str, list[str]]:
    """Write grants as a document."""
    return {namespace: sorted(roles) for namespace, roles in sorted(grants.items())}


def parse_grants(value: Any, path: str, faults: Faults) -> Grants:
    """Parse requested grants; faults are added to the list."""
    if not isinstance(value, dict) or not value:
        faults.append((path, _FORM))
        return {}
    grants = {}
    for namespace, roles in value.items():
        faults += _check_namespace(namespace, f"{path}.{namespace}")
        if not isinstance(roles, list) or not roles:
            faults.append((f"{path}.{namespace}", "has to be a list of roles"))
            continue
        unknown = [each for each in roles if each not in list(Role)]
        faults += [(f"{path}.{namespace}", f"{each!r} is none of {', '.join(Role)}") for each in unknown]
        grants[namespace] = frozenset(Role(each) for each in roles if each not in unknown)
    return grants


def granted(value: Any) -> Grants:
    """Read the grants of a token; anything that isn't a known role or a valid namespace grants nothing."""
    given = value if isinstance(value, dict) else {}
    return {
        namespace: roles
        for namespace, listed in given.items()
        if not _check_namespace(namespace, "") and (roles := roles_among(listed))
    }


def roles_among(value: Any, prefix: str = "") -> frozenset[Role]:
    """Return the roles in a list or a space-separated text, each after the prefix."""
    words = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    named = {each.removeprefix(prefix) for each in words if isinstance(each, str) and each.startswith(prefix)}
    return frozenset(role for role in Role if role in named)


def _check_namespace(namespace: Any, path: str) -> Faults:
    if namespace == EVERYWHERE:
        return []
    try:
        check_channel(namespace, "x")
    except InvalidChannel as error:
        return [(path, str(error))]
    return []

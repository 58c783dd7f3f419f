"""The permission that each request needs: the one table of all routes.

A route that is missing here is refused where authentication is on. Be careful with `Target.HANDLER`: the endpoint
itself must ask `access_of(request)` which namespaces count, or its answer is withheld.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from headrace.auth.roles import Role
from headrace.ledger.records.consents import PATH as CONSENT

if TYPE_CHECKING:
    from collections.abc import Mapping


class Target(Enum):
    """What a request is about, which tells in which namespaces the role is needed."""

    NONE = auto()
    """No namespace: the role is needed in any one."""
    EVERY = auto()
    """All namespaces: the role is needed everywhere."""
    PATH = auto()
    """The namespace in the path."""
    CHANNEL = auto()
    """The channel in the path, in its namespace."""
    SUBSCRIPTION = auto()
    """The subscription whose id is in the path; one of another namespace is not found."""
    JOB = auto()
    ATTEMPT = auto()
    REDRIVE = auto()
    KEY = auto()
    HANDLER = auto()
    """What the body names, or a list that is narrowed to the caller's namespaces."""


BY_ID = frozenset({Target.SUBSCRIPTION, Target.JOB, Target.ATTEMPT, Target.REDRIVE, Target.KEY})
"""Named by an id, which doesn't tell the namespace."""


@dataclass(frozen=True, slots=True)
class Permission:
    """`role` None: any authenticated caller. `is_open`: everybody. `records`: the kind of what the request changes."""

    role: Role | None = None
    target: Target = Target.NONE
    records: str | None = None
    is_open: bool = False


OPEN = Permission(is_open=True)
OPEN_IN_PART = Permission(Role.SUBSCRIBE, is_open=True)
"""Everybody gets an answer, but only those with the role in every namespace get all of it."""
KNOWN = Permission()


def _publish(target: Target) -> Permission:
    return Permission(Role.PUBLISH, target)


def _subscribe(target: Target, records: str | None = None) -> Permission:
    return Permission(Role.SUBSCRIBE, target, records)


def _admin(target: Target, records: str | None = None) -> Permission:
    return Permission(Role.ADMIN, target, records)


_OBJECTS = {"GET": _subscribe(Target.HANDLER), "POST": _subscribe(Target.HANDLER, "object")}
_OBJECT = {
    "GET": _subscribe(Target.PATH),
    "PUT": _subscribe(Target.HANDLER, "object"),
    "DELETE": _subscribe(Target.HANDLER, "object"),
}
METRICS = "/metrics"
PERMISSIONS: Mapping[str, Mapping[str, Permission]] = {
    # Events
    "/channels/{namespace}/{name}": {"POST": _publish(Target.PATH)},
    # Health
    "/healthz": {"GET": OPEN},
    "/readyz": {"GET": OPEN_IN_PART},
    METRICS: {"GET": _subscribe(Target.EVERY)},
    # Discovery
    "/openapi.json": {"GET": OPEN},
    "/docs": {"GET": OPEN},
    "/api/discovery": {"GET": OPEN},
    "/api/discovery/endpoints": {"GET": Permission(None, Target.HANDLER)},
    "/api/discovery/endpoints/{id}": {"GET": Permission(None, Target.HANDLER)},
    # Consent of web hooks: knowing the address is the proof
    CONSENT: {"GET": OPEN, "POST": OPEN},
    # Subscriptions
    "/subscriptions": {
        "GET": _subscribe(Target.HANDLER),
        "POST": _subscribe(Target.HANDLER, "subscription"),
        "OPTIONS": OPEN,
    },
    "/subscriptions/{id}": {
        "GET": _subscribe(Target.SUBSCRIPTION),
        "PUT": _subscribe(Target.SUBSCRIPTION, "subscription"),
        "OPTIONS": OPEN,
        "DELETE": _subscribe(Target.SUBSCRIPTION, "subscription"),
    },
    "/subscriptions/{id}/secrets": {"PUT": _subscribe(Target.SUBSCRIPTION, "subscription")},
    "/api/subscriptions/{id}/pause": {"POST": _subscribe(Target.SUBSCRIPTION, "subscription")},
    "/api/subscriptions/{id}/resume": {"POST": _subscribe(Target.SUBSCRIPTION, "subscription")},
    "/api/subscriptions/import": {"POST": _subscribe(Target.HANDLER, "subscription")},
    "/api/subscriptions/export": {"GET": _subscribe(Target.HANDLER)},
    "/api/subscriptions/{id}/test": {"POST": _subscribe(Target.SUBSCRIPTION, "test-send")},
    "/api/deliveries/test": {"POST": _subscribe(Target.HANDLER, "test-send")},
    "/api/set-aside": {"GET": _subscribe(Target.HANDLER)},
    # Channels
    "/api/channels": {"GET": Permission(None, Target.HANDLER), "POST": _admin(Target.HANDLER, "channel")},
    "/api/channels/{namespace}/{name}": {
        "GET": Permission(None, Target.CHANNEL),
        "PUT": _admin(Target.CHANNEL, "channel"),
        "DELETE": _admin(Target.CHANNEL, "channel"),
    },
    "/api/channels/{namespace}/{name}/interest": {"GET": _publish(Target.PATH)},
    "/api/channels/{namespace}/{name}/interest/bloom": {"GET": _publish(Target.PATH)},
    # History
    "/api/subscriptions/{id}/seek": {"POST": _subscribe(Target.SUBSCRIPTION, "seek")},
    "/api/subscriptions/{id}/replay": {"POST": _subscribe(Target.SUBSCRIPTION, "replay")},
    "/api/filters/compile": {"POST": KNOWN},
    "/api/filters/explain": {"POST": KNOWN},
    "/api/filters/backtest": {"POST": _subscribe(Target.HANDLER, "backtest")},
    "/api/jobs": {"GET": _subscribe(Target.HANDLER)},
    "/api/jobs/{id}": {"GET": _subscribe(Target.JOB), "DELETE": _subscribe(Target.JOB, "job")},
    # Deliveries
    "/api/attempts": {"GET": _subscribe(Target.HANDLER)},
    "/api/attempts/{id}": {"GET": _subscribe(Target.ATTEMPT)},
    "/api/attempts/{id}/retry": {"POST": _subscribe(Target.ATTEMPT, "redrive")},
    "/api/dead-letters": {"GET": _subscribe(Target.HANDLER)},
    "/api/redrive": {"POST": _subscribe(Target.HANDLER, "redrive")},
    "/api/redrives": {"GET": _subscribe(Target.HANDLER)},
    "/api/redrives/{id}": {
        "GET": _subscribe(Target.REDRIVE),
        "DELETE": _subscribe(Target.REDRIVE, "redrive"),
    },
    # Pull
    "/api/subscriptions/{id}/events": {"GET": _subscribe(Target.SUBSCRIPTION)},
    "/api/subscriptions/{id}/ack": {"POST": _subscribe(Target.SUBSCRIPTION)},
    # Knative's objects. To change those that are channels takes the role admin, which the endpoint checks.
    "/api/apply": {"POST": _subscribe(Target.HANDLER, "object")},
    "/api/objects": {"GET": KNOWN},
    "/api/objects/{kind}": _OBJECTS,
    "/api/objects/{kind}/{namespace}/{name}": _OBJECT,
    "/api/triggers": _OBJECTS,
    "/api/triggers/{namespace}/{name}": _OBJECT,
    "/api/brokers": _OBJECTS,
    "/api/brokers/{namespace}/{name}": _OBJECT,
    # Access
    "/api/keys": {"GET": _admin(Target.HANDLER), "POST": _admin(Target.HANDLER)},
    "/api/keys/{id}": {"GET": _admin(Target.KEY), "DELETE": _admin(Target.KEY)},
    "/api/quotas": {"GET": _admin(Target.HANDLER)},
    "/api/quotas/{namespace}": {
        "GET": _subscribe(Target.PATH),
        "PUT": _admin(Target.EVERY),
        "DELETE": _admin(Target.EVERY),
    },
    "/api/audit": {"GET": _admin(Target.HANDLER)},
    "/api/whoami": {"GET": KNOWN},
}


def permission_for(path: str, method: str) -> Permission | None:
    """Return the permission that a route needs; None for an unknown route."""
    return PERMISSIONS.get(path, {}).get("GET" if method == "HEAD" else method)

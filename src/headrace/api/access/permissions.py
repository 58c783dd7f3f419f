"""What each request takes: the one table of routes and permissions.

A route that is missing here is refused where authentication is on. Be careful with `Of.HANDLER`: the handler itself has
to ask `access_of(request)` which namespaces count; one that forgets gets its answer withheld.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from headrace.auth.roles import Role
from headrace.ledger.records.consents import PATH as CONSENT

if TYPE_CHECKING:
    from collections.abc import Mapping


class Of(Enum):
    """How it is known which namespace a request is about."""

    NONE = auto()
    """About none: whoever has the role in any namespace may."""
    EVERY = auto()
    """About all of them: the role is needed everywhere."""
    PATH = auto()
    """Its address names it."""
    CHANNEL = auto()
    """So does the address of a channel."""
    SUBSCRIPTION = auto()
    """The subscription does whose id is in the address; what isn't the caller's is not there for them."""
    JOB = auto()
    ATTEMPT = auto()
    REDRIVE = auto()
    KEY = auto()
    HANDLER = auto()
    """The body names it, or it is a list, of which everybody sees what is theirs."""


BY_ID = frozenset({Of.SUBSCRIPTION, Of.JOB, Of.ATTEMPT, Of.REDRIVE, Of.KEY})
"""What is known by an id, which doesn't tell whose it is."""


@dataclass(frozen=True, slots=True)
class Permission:
    """`role` None: who can say who they are may. `is_open`: everybody may. `records` is the kind of what it changes."""

    role: Role | None = None
    of: Of = Of.NONE
    records: str | None = None
    is_open: bool = False


OPEN = Permission(is_open=True)
OPEN_IN_PART = Permission(Role.SUBSCRIBE, is_open=True)
"""Everybody gets an answer, and those with the role in every namespace get all of it."""
KNOWN = Permission()


def _publish(of: Of) -> Permission:
    return Permission(Role.PUBLISH, of)


def _subscribe(of: Of, records: str | None = None) -> Permission:
    return Permission(Role.SUBSCRIBE, of, records)


def _admin(of: Of, records: str | None = None) -> Permission:
    return Permission(Role.ADMIN, of, records)


_OBJECTS = {"GET": _subscribe(Of.HANDLER), "POST": _subscribe(Of.HANDLER, "object")}
_OBJECT = {
    "GET": _subscribe(Of.PATH),
    "PUT": _subscribe(Of.HANDLER, "object"),
    "DELETE": _subscribe(Of.HANDLER, "object"),
}
METRICS = "/metrics"
PERMISSIONS: Mapping[str, Mapping[str, Permission]] = {
    # Events
    "/channels/{namespace}/{name}": {"POST": _publish(Of.PATH)},
    # Health
    "/healthz": {"GET": OPEN},
    "/readyz": {"GET": OPEN_IN_PART},
    METRICS: {"GET": _subscribe(Of.EVERY)},
    # What there is
    "/openapi.json": {"GET": OPEN},
    "/docs": {"GET": OPEN},
    "/api/discovery": {"GET": OPEN},
    "/api/discovery/endpoints": {"GET": Permission(None, Of.HANDLER)},
    "/api/discovery/endpoints/{id}": {"GET": Permission(None, Of.HANDLER)},
    # Web hooks that agree: the address is the proof
    CONSENT: {"GET": OPEN, "POST": OPEN},
    # Subscriptions
    "/subscriptions": {
        "GET": _subscribe(Of.HANDLER),
        "POST": _subscribe(Of.HANDLER, "subscription"),
        "OPTIONS": OPEN,
    },
    "/subscriptions/{id}": {
        "GET": _subscribe(Of.SUBSCRIPTION),
        "PUT": _subscribe(Of.SUBSCRIPTION, "subscription"),
        "OPTIONS": OPEN,
        "DELETE": _subscribe(Of.SUBSCRIPTION, "subscription"),
    },
    "/subscriptions/{id}/secrets": {"PUT": _subscribe(Of.SUBSCRIPTION, "subscription")},
    "/api/subscriptions/{id}/pause": {"POST": _subscribe(Of.SUBSCRIPTION, "subscription")},
    "/api/subscriptions/{id}/resume": {"POST": _subscribe(Of.SUBSCRIPTION, "subscription")},
    "/api/subscriptions/import": {"POST": _subscribe(Of.HANDLER, "subscription")},
    "/api/subscriptions/export": {"GET": _subscribe(Of.HANDLER)},
    "/api/subscriptions/{id}/test": {"POST": _subscribe(Of.SUBSCRIPTION, "test-send")},
    "/api/deliveries/test": {"POST": _subscribe(Of.HANDLER, "test-send")},
    "/api/set-aside": {"GET": _subscribe(Of.HANDLER)},
    # Channels
    "/api/channels": {"GET": Permission(None, Of.HANDLER), "POST": _admin(Of.HANDLER, "channel")},
    "/api/channels/{namespace}/{name}": {
        "GET": Permission(None, Of.CHANNEL),
        "PUT": _admin(Of.CHANNEL, "channel"),
        "DELETE": _admin(Of.CHANNEL, "channel"),
    },
    "/api/channels/{namespace}/{name}/interest": {"GET": _publish(Of.PATH)},
    "/api/channels/{namespace}/{name}/interest/bloom": {"GET": _publish(Of.PATH)},
    # The past
    "/api/subscriptions/{id}/seek": {"POST": _subscribe(Of.SUBSCRIPTION, "seek")},
    "/api/subscriptions/{id}/replay": {"POST": _subscribe(Of.SUBSCRIPTION, "replay")},
    "/api/filters/compile": {"POST": KNOWN},
    "/api/filters/explain": {"POST": KNOWN},
    "/api/filters/backtest": {"POST": _subscribe(Of.HANDLER, "backtest")},
    "/api/jobs": {"GET": _subscribe(Of.HANDLER)},
    "/api/jobs/{id}": {"GET": _subscribe(Of.JOB), "DELETE": _subscribe(Of.JOB, "job")},
    # Deliveries
    "/api/attempts": {"GET": _subscribe(Of.HANDLER)},
    "/api/attempts/{id}": {"GET": _subscribe(Of.ATTEMPT)},
    "/api/attempts/{id}/retry": {"POST": _subscribe(Of.ATTEMPT, "redrive")},
    "/api/dead-letters": {"GET": _subscribe(Of.HANDLER)},
    "/api/redrive": {"POST": _subscribe(Of.HANDLER, "redrive")},
    "/api/redrives": {"GET": _subscribe(Of.HANDLER)},
    "/api/redrives/{id}": {"GET": _subscribe(Of.REDRIVE), "DELETE": _subscribe(Of.REDRIVE, "redrive")},
    # Pulling
    "/api/subscriptions/{id}/events": {"GET": _subscribe(Of.SUBSCRIPTION)},
    "/api/subscriptions/{id}/ack": {"POST": _subscribe(Of.SUBSCRIPTION)},
    # Knative's objects. To change those that are channels takes the role admin, which the handler asks for.
    "/api/apply": {"POST": _subscribe(Of.HANDLER, "object")},
    "/api/objects": {"GET": KNOWN},
    "/api/objects/{kind}": _OBJECTS,
    "/api/objects/{kind}/{namespace}/{name}": _OBJECT,
    "/api/triggers": _OBJECTS,
    "/api/triggers/{namespace}/{name}": _OBJECT,
    "/api/brokers": _OBJECTS,
    "/api/brokers/{namespace}/{name}": _OBJECT,
    # Who may do what
    "/api/keys": {"GET": _admin(Of.HANDLER), "POST": _admin(Of.HANDLER)},
    "/api/keys/{id}": {"GET": _admin(Of.KEY), "DELETE": _admin(Of.KEY)},
    "/api/quotas": {"GET": _admin(Of.HANDLER)},
    "/api/quotas/{namespace}": {
        "GET": _subscribe(Of.PATH),
        "PUT": _admin(Of.EVERY),
        "DELETE": _admin(Of.EVERY),
    },
    "/api/audit": {"GET": _admin(Of.HANDLER)},
    "/api/whoami": {"GET": KNOWN},
}


def permission_for(path: str, method: str) -> Permission | None:
    """Return what a route takes; None where nobody said."""
    return PERMISSIONS.get(path, {}).get("GET" if method == "HEAD" else method)

"""The subscribers of an object as subscriptions of the store. A change keeps the subscription, so no event is lost."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.controlplane.conditions import is_false, is_true
from headrace.errors import NotFound
from headrace.subscriptions.readiness import Readiness, readiness_of
from headrace.subscriptions.replacement import replaced
from headrace.subscriptions.subscription import parse_subscription

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.controlplane.conditions import Condition
    from headrace.controlplane.deployment import Deployment
    from headrace.subscriptions.subscription import Subscription


UNRESOLVED = Readiness(
    False, "NotResolved", "it gets no events, because an object that it names does not exist"
)


def sync(deployment: Deployment, uid: str, wanted: Mapping[str, Mapping[str, Any]]) -> None:
    """Give an object exactly these subscriptions, by subscriber; each is a document as the API takes it."""
    bound = deployment.registry.bindings(uid)
    for subscriber, document in wanted.items():
        _ensure(deployment, uid, subscriber, bound.get(subscriber), parse_subscription(document))
    for subscriber, subscription in bound.items():
        if subscriber not in wanted:
            _end(deployment, subscription)
            deployment.registry.unbind(uid, subscriber, deployment.along)


def as_condition(readiness: Readiness, type_: str) -> Condition:
    """Return the readiness as a condition."""
    return is_true(type_) if readiness.is_ready else is_false(type_, readiness.reason, readiness.message)


def readiness(deployment: Deployment, uid: str) -> dict[str, Readiness]:
    """Return the readiness of each subscriber that has a subscription."""
    return {
        subscriber: _readiness(_find(deployment, subscription))
        for subscriber, subscription in deployment.registry.bindings(uid).items()
    }


def _ensure(
    deployment: Deployment, uid: str, subscriber: str, subscription: str | None, wanted: Subscription
) -> None:
    known = None if subscription is None else _find(deployment, subscription)
    if known is None:
        bind = deployment.registry.binding(uid, subscriber, wanted.id)
        with suppress(NotFound):  # its channel was deleted by hand; the status says so
            deployment.store.create(wanted, deployment.end_of_log, bind, deployment.along)
    elif replaced(known, wanted).document() != known.document():
        deployment.store.replace(replace(wanted, id=known.id), deployment.along)


def _find(deployment: Deployment, subscription: str) -> Subscription | None:
    try:
        return deployment.store.get(subscription)
    except NotFound:
        return None


def _end(deployment: Deployment, subscription: str) -> None:
    with suppress(NotFound):  # ended already, by an earlier attempt or by hand
        deployment.store.delete(subscription, deployment.end_of_log, along=deployment.along)


def _readiness(found: Subscription | None) -> Readiness:
    if found is None:
        return Readiness(
            False, "SubscriptionDeleted", "its subscription was deleted by hand; apply the object again"
        )
    return readiness_of(found)

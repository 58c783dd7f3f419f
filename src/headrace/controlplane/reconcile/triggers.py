"""Trigger: a subscription with filters to a broker's channel. Its subscriber's replies go back to the broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.controlplane.admission.triggers import broker_of, filters_of
from headrace.controlplane.conditions import Observation, is_false, is_true
from headrace.controlplane.deployment import Unresolved, reference_of
from headrace.controlplane.kinds import BROKER
from headrace.controlplane.objects import ObjectKey
from headrace.controlplane.reconcile.addressables import dead_letter_reference, see_dead_letters
from headrace.controlplane.reconcile.subscribers import UNRESOLVED, as_condition, readiness, sync

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.controlplane.deployment import Deployment
    from headrace.controlplane.objects import Object

_BROKER, _RESOLVED, _SUBSCRIBED = "BrokerReady", "SubscriberResolved", "SubscriptionReady"


def references(spec: Mapping[str, Any], namespace: str) -> list[ObjectKey]:
    """List the objects that a trigger names."""
    subscriber = reference_of(spec["subscriber"], namespace)
    named = [_broker_key(spec, namespace), *([subscriber] if subscriber else [])]
    return named + dead_letter_reference(spec, namespace)


def _broker_key(spec: Mapping[str, Any], namespace: str) -> ObjectKey:
    return ObjectKey(BROKER, namespace, broker_of(spec))


def act(deployment: Deployment, trigger: Object) -> bool:
    """Create or change its subscription, or delete it if an object that it names doesn't exist."""
    try:
        wanted = {trigger.uid: _proposal(deployment, trigger)}
    except Unresolved:
        wanted = {}
    sync(deployment, trigger.uid, wanted)
    return False


def _proposal(deployment: Deployment, trigger: Object) -> dict[str, Any]:
    key = _broker_key(trigger.spec, trigger.namespace)
    broker = deployment.registry.get(key)
    if broker is None:
        raise Unresolved(key)
    address = deployment.url_of(broker.channel)
    config: dict[str, Any] = {"channel": str(broker.channel), "reply": {"uri": address}}
    if (delivery := deployment.resolve_delivery(trigger.spec, trigger.namespace)) is not None:
        config["delivery"] = delivery
    sink = deployment.resolve(trigger.spec["subscriber"], trigger.namespace)
    return {"sink": sink, "protocol": "HTTP", "config": config, "filters": filters_of(trigger.spec)}


def observe(deployment: Deployment, trigger: Object) -> Observation:
    """Return the state of a trigger."""
    key = _broker_key(trigger.spec, trigger.namespace)
    status: dict[str, Any] = {}
    broker, resolved = is_true(_BROKER), is_true(_RESOLVED)
    if deployment.registry.get(key) is None:
        broker = is_false(_BROKER, "BrokerDoesNotExist", f"{key} does not exist")
    try:
        status["subscriberUri"] = deployment.resolve(trigger.spec["subscriber"], trigger.namespace)
    except Unresolved as error:
        resolved = is_false(_RESOLVED, "NotResolved", str(error))
    dead_letters = see_dead_letters(deployment, trigger, status)
    subscribed = readiness(deployment, trigger.uid).get(trigger.uid, UNRESOLVED)
    return Observation((broker, resolved, *dead_letters, as_condition(subscribed, _SUBSCRIBED)), status)

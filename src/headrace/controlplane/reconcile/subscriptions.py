"""Subscription: adds itself to its channel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.controlplane.admission.parts import referred_kind
from headrace.controlplane.conditions import Observation, is_false, is_true
from headrace.controlplane.deployment import Unresolved, reference_of
from headrace.controlplane.objects import ObjectKey
from headrace.controlplane.reconcile.addressables import dead_letter_reference
from headrace.controlplane.reconcile.channels import proposal_of, subscriber_of
from headrace.controlplane.reconcile.subscribers import UNRESOLVED, as_condition, readiness, sync

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.controlplane.deployment import Deployment
    from headrace.controlplane.objects import Object

_RESOLVED, _ADDED, _CHANNEL = "ReferencesResolved", "AddedToChannel", "ChannelReady"


def references(spec: Mapping[str, Any], namespace: str) -> list[ObjectKey]:
    """List the objects that a Subscription names."""
    named = [reference_of(spec.get(each), namespace) for each in ("subscriber", "reply")]
    found = [channel_key(spec, namespace), *(each for each in named if each)]
    return found + dead_letter_reference(spec, namespace)


def channel_key(spec: Mapping[str, Any], namespace: str) -> ObjectKey:
    """Return the channel of a Subscription."""
    kind = referred_kind(spec["channel"])
    assert kind is not None  # noqa: S101  admission has checked it
    return ObjectKey(kind, namespace, spec["channel"]["name"])


def act(deployment: Deployment, subscription: Object) -> bool:
    """Create or change its subscription in the store, or delete it if an object that it names doesn't exist."""
    channel = deployment.registry.get(channel_key(subscription.spec, subscription.namespace))
    wanted = {}
    if channel is not None:
        try:
            wanted[subscription.uid] = proposal_of(channel.channel, subscriber_of(deployment, subscription))
        except Unresolved:
            wanted.clear()
    sync(deployment, subscription.uid, wanted)
    return False


def observe(deployment: Deployment, subscription: Object) -> Observation:
    """Return the state of a Subscription."""
    status: dict[str, Any] = {}
    resolved = is_true(_RESOLVED)
    try:
        status["physicalSubscription"] = _physical(subscriber_of(deployment, subscription))
    except Unresolved as error:
        resolved = is_false(_RESOLVED, "NotResolved", str(error))
    channel = is_true(_CHANNEL)
    key = channel_key(subscription.spec, subscription.namespace)
    if deployment.registry.get(key) is None:
        channel = is_false(_CHANNEL, "ChannelDoesNotExist", f"{key} does not exist")
    added = readiness(deployment, subscription.uid).get(subscription.uid, UNRESOLVED)
    return Observation((resolved, channel, as_condition(added, _ADDED)), status)


def _physical(subscriber: Mapping[str, Any]) -> dict[str, str]:
    shown = {name: subscriber[name] for name in ("subscriberUri", "replyUri") if name in subscriber}
    sink = (subscriber.get("delivery") or {}).get("deadLetterSink")
    return shown | ({"deadLetterSinkUri": sink["uri"]} if sink else {})

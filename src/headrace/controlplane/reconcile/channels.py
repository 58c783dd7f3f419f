"""HeadraceChannel and InMemoryChannel: a channel with the subscribers of its spec and those that Subscriptions add."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.controlplane.conditions import FALSE, TRUE, Observation
from headrace.controlplane.deployment import Unresolved
from headrace.controlplane.kinds import CHANNEL, SUBSCRIPTION
from headrace.controlplane.objects import ObjectKey
from headrace.controlplane.reconcile.addressables import dead_letter_reference, ensure_channel, see_address
from headrace.controlplane.reconcile.subscribers import UNRESOLVED, readiness, sync

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.controlplane.deployment import Deployment
    from headrace.controlplane.objects import Object
    from headrace.subscriptions.channels.name import ChannelName
    from headrace.subscriptions.readiness import Readiness


def references(spec: Mapping[str, Any], namespace: str) -> list[ObjectKey]:
    """List the objects that a channel names."""
    subscribers = spec.get("subscribers") or []
    return [key for each in (spec, *subscribers) for key in dead_letter_reference(each, namespace)]


def act(deployment: Deployment, channel: Object) -> bool:
    """Create the channel and subscriptions for the subscribers in its spec; tell whether the channel was created."""
    made = ensure_channel(deployment, channel)
    wanted = {}
    for subscriber in _own(channel, appended_subscribers(deployment, channel)):
        try:
            delivery = deployment.resolve_delivery(subscriber, channel.namespace)
        except Unresolved:
            continue
        resolved = subscriber if delivery is None else {**subscriber, "delivery": delivery}
        wanted[subscriber["uid"]] = proposal_of(channel.channel, resolved)
    sync(deployment, channel.uid, wanted)
    return made


def proposal_of(channel: ChannelName, subscriber: Mapping[str, Any]) -> dict[str, Any]:
    """Return the subscription of a resolved subscriber. One with only a reply gets its events there."""
    sink, reply = subscriber.get("subscriberUri"), subscriber.get("replyUri")
    config: dict[str, Any] = {"channel": str(channel)}
    if sink and reply:
        config["reply"] = {"uri": reply}
    if subscriber.get("delivery") is not None:
        config["delivery"] = subscriber["delivery"]
    return {"sink": sink or reply, "protocol": "HTTP", "config": config}


def appended_subscribers(deployment: Deployment, channel: Object) -> list[dict[str, Any]]:
    """List the subscribers that Subscription objects add to the spec, as far as they are resolved."""
    keys = [channel.key]
    if channel.owner is not None:
        keys.append(ObjectKey(CHANNEL, channel.namespace, channel.name))
    found = []
    for key in keys:
        for subscription in deployment.registry.referring_to(key, SUBSCRIPTION):
            ref = subscription.spec["channel"]
            if (ref["kind"], ref["name"]) != (key.kind.name, key.name):
                continue  # only its replies or its dead letters go there
            try:
                found.append(subscriber_of(deployment, subscription))
            except Unresolved:
                continue
    return found


def subscriber_of(deployment: Deployment, subscription: Object) -> dict[str, Any]:
    """Return the subscriber that a Subscription adds to its channel, or raise Unresolved."""
    spec, namespace = subscription.spec, subscription.namespace
    shown: dict[str, Any] = {
        "uid": subscription.uid,
        "name": subscription.name,
        "generation": subscription.generation,
    }
    for name, member in (("subscriber", "subscriberUri"), ("reply", "replyUri")):
        if spec.get(name) is not None:
            shown[member] = deployment.resolve(spec[name], namespace)
    delivery = deployment.resolve_delivery(spec, namespace)
    return shown if delivery is None else shown | {"delivery": delivery}


def observe(deployment: Deployment, channel: Object) -> Observation:
    """Return the state of a channel and its subscribers."""
    conditions, status = see_address(deployment, channel)
    appended = appended_subscribers(deployment, channel)
    subscribers = (*_own(channel, appended), *appended)
    ready = readiness(deployment, channel.uid)
    for subscriber in appended:
        ready |= readiness(deployment, subscriber["uid"])
    status["subscribers"] = [_status(each, ready.get(each["uid"], UNRESOLVED)) for each in subscribers]
    return Observation(tuple(conditions), status, subscribers)


def _own(channel: Object, appended: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """List the subscribers of the spec itself; a spec applied as it was shown has the added ones too."""
    uids = {each["uid"] for each in appended}
    return [each for each in channel.spec.get("subscribers") or [] if each["uid"] not in uids]


def _status(subscriber: Mapping[str, Any], readiness: Readiness) -> dict[str, Any]:
    shown = {
        "uid": subscriber["uid"],
        "observedGeneration": subscriber.get("generation", 0),
        "ready": TRUE if readiness.is_ready else FALSE,
    }
    return shown | ({"message": readiness.message} if readiness.message else {})

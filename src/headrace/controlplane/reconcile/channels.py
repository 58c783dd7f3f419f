"""HeadraceChannel and InMemoryChannel: a channel with the subscribers of its spec and those that append themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.controlplane.conditions import FALSE, TRUE
from headrace.controlplane.deployment import Unresolved
from headrace.controlplane.kinds import CHANNEL, SUBSCRIPTION
from headrace.controlplane.objects import Key
from headrace.controlplane.reconcile.addressables import dead_letter_reference, ensure_channel, see_address
from headrace.controlplane.reconcile.outcome import Seen
from headrace.controlplane.reconcile.subscribers import UNRESOLVED, readiness, sync

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.controlplane.deployment import Deployment
    from headrace.controlplane.objects import Object
    from headrace.subscriptions.channels.name import ChannelName
    from headrace.subscriptions.readiness import Readiness


def references(spec: Mapping[str, Any], namespace: str) -> list[Key]:
    """List the objects that it names."""
    subscribers = spec.get("subscribers") or []
    return [key for each in (spec, *subscribers) for key in dead_letter_reference(each, namespace)]


def act(deployment: Deployment, channel: Object) -> bool:
    """Make the channel and the subscriptions of the subscribers in its own spec; tell whether it was made."""
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
    """Return the subscription of a subscriber whose references are resolved. Who only replies passes events on."""
    sink, reply = subscriber.get("subscriberUri"), subscriber.get("replyUri")
    config: dict[str, Any] = {"channel": str(channel)}
    if sink and reply:
        config["reply"] = {"uri": reply}
    if subscriber.get("delivery") is not None:
        config["delivery"] = subscriber["delivery"]
    return {"sink": sink or reply, "protocol": "HTTP", "config": config}


def appended_subscribers(deployment: Deployment, channel: Object) -> list[dict[str, Any]]:
    """List what Subscription objects append to the spec: those whose references are resolved."""
    keys = [channel.key]
    if channel.owner is not None:
        keys.append(Key(CHANNEL, channel.namespace, channel.name))
    found = []
    for key in keys:
        for subscription in deployment.registry.referring_to(key, SUBSCRIPTION):
            ref = subscription.spec["channel"]
            if (ref["kind"], ref["name"]) != (key.kind.name, key.name):
                continue  # it only replies there, or leaves its dead letters there
            try:
                found.append(subscriber_of(deployment, subscription))
            except Unresolved:
                continue
    return found


def subscriber_of(deployment: Deployment, subscription: Object) -> dict[str, Any]:
    """Return what a Subscription appends to its channel, or raise Unresolved."""
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


def observe(deployment: Deployment, channel: Object) -> Seen:
    """Say how the channel and its subscribers fare."""
    conditions, status = see_address(deployment, channel)
    appended = appended_subscribers(deployment, channel)
    subscribers = (*_own(channel, appended), *appended)
    ready = readiness(deployment, channel.uid)
    for subscriber in appended:
        ready |= readiness(deployment, subscriber["uid"])
    status["subscribers"] = [_status(each, ready.get(each["uid"], UNRESOLVED)) for each in subscribers]
    return Seen(tuple(conditions), status, subscribers)


def _own(channel: Object, appended: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """List the subscribers of the spec itself. An appended one may stand there too, in a spec that was got before."""
    uids = {each["uid"] for each in appended}
    return [each for each in channel.spec.get("subscribers") or [] if each["uid"] not in uids]


def _status(subscriber: Mapping[str, Any], fares: Readiness) -> dict[str, Any]:
    shown = {
        "uid": subscriber["uid"],
        "observedGeneration": subscriber.get("generation", 0),
        "ready": TRUE if fares.is_ready else FALSE,
    }
    return shown | ({"message": fares.message} if fares.message else {})

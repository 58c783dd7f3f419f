"""Checks of channels: those with subscribers of their own, and the generic Channel, which is backed by one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.controlplane.admission.parts import check_delivery_of, check_members, check_object
from headrace.controlplane.kinds import BACKING, VERSIONS
from headrace.protocols import check_sink

if TYPE_CHECKING:
    from headrace.controlplane.manifest import Manifest
    from headrace.documents.faults import Faults

_SUBSCRIBER = ("uid", "name", "generation", "subscriberUri", "replyUri", "delivery")
# Members of Knative's type that are not supported here; they may be empty.
_NOT_HERE = ("subscriberCACerts", "subscriberAudience", "replyCACerts", "replyAudience", "auth")
_LONGEST_UID = 64
_MOST = 2**63 - 1


def check_channel_spec(manifest: Manifest) -> Faults:
    """Return the faults of a channel's spec."""
    spec = dict(manifest.spec)
    faults = check_members(spec, "spec", ("delivery", "subscribers"))
    faults += check_delivery_of(spec, "spec", manifest.namespace)
    subscribers = spec.get("subscribers") or []
    if not isinstance(subscribers, list):
        return [*faults, ("spec.subscribers", "has to be a list of subscribers")]
    seen: set[Any] = set()
    for number, subscriber in enumerate(subscribers):
        path = f"spec.subscribers[{number}]"
        faults += _check_subscriber(subscriber, path, manifest.namespace)
        uid = subscriber.get("uid") if isinstance(subscriber, dict) else None
        if isinstance(uid, str):
            if uid in seen:
                faults.append((f"{path}.uid", f"{uid!r} is given twice"))
            seen.add(uid)
    return faults


def _check_subscriber(subscriber: Any, path: str, namespace: str) -> Faults:
    faults = check_object(subscriber, path, (*_SUBSCRIBER, *_NOT_HERE))
    if not isinstance(subscriber, dict):
        return faults
    faults += [(f"{path}.{name}", "is not supported here") for name in _NOT_HERE if subscriber.get(name)]
    uid, generation = subscriber.get("uid"), subscriber.get("generation", 0)
    if not isinstance(uid, str) or not 0 < len(uid) <= _LONGEST_UID:
        faults.append((f"{path}.uid", f"is required: a text of at most {_LONGEST_UID} characters"))
    if isinstance(generation, bool) or not isinstance(generation, int) or not 0 <= generation <= _MOST:
        faults.append((f"{path}.generation", f"{generation!r} is not a whole number from 0"))
    uris = [name for name in ("subscriberUri", "replyUri") if subscriber.get(name)]
    if not uris:
        faults.append((path, "has neither subscriberUri nor replyUri; one of them is required"))
    for name in uris:
        faults += [(f"{path}.{name}", problem) for _, problem in check_sink("HTTP", subscriber[name])]
    return faults + check_delivery_of(subscriber, path, namespace)


def check_generic_channel(manifest: Manifest) -> Faults:
    """Return the faults of a generic Channel, whose subscribers are added by Subscriptions, never by hand."""
    spec = dict(manifest.spec)
    faults: Faults = []
    if spec.pop("subscribers", None):
        faults.append(
            (
                "spec.subscribers",
                "must not be set on the generic Channel; apply a Subscription, which adds itself",
            )
        )
    faults += check_members(spec, "spec", ("channelTemplate", "delivery"))
    template = spec.get("channelTemplate")
    if template is not None:
        faults += _check_template(template, manifest.namespace)
    return faults + check_delivery_of(spec, "spec", manifest.namespace)


def _check_template(template: Any, namespace: str) -> Faults:
    path = "spec.channelTemplate"
    faults = check_object(template, path, ("apiVersion", "kind", "spec"))
    if faults:
        return faults
    served = [(kind.api_version(version), kind.name) for kind in BACKING for version in VERSIONS]
    if (template.get("apiVersion"), template.get("kind")) not in served:
        known = ", ".join(f"{kind.name} ({kind.group}/{VERSIONS[0]})" for kind in BACKING)
        faults.append((path, f"{template.get('kind')!r} can't back a Channel here; supported are {known}"))
    spec = template.get("spec") or {}
    faults += check_object(spec, f"{path}.spec", ("delivery",))
    return faults + (check_delivery_of(spec, f"{path}.spec", namespace) if isinstance(spec, dict) else [])

"""The generic Channel: it is backed by another channel, to which Subscriptions are added, and shows its address."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.controlplane.conditions import TRUE, Condition, Observation, is_false, is_true
from headrace.controlplane.kinds import HEADRACE_CHANNEL, VERSIONS, kind_of
from headrace.controlplane.manifest import Manifest
from headrace.controlplane.objects import ObjectKey
from headrace.controlplane.reconcile import channels
from headrace.controlplane.reconcile.addressables import ADDRESSABLE, dead_letter_reference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.controlplane.deployment import Deployment
    from headrace.controlplane.kinds import ObjectKind
    from headrace.controlplane.objects import Object

_BACKING = "BackingChannelReady"


def references(spec: Mapping[str, Any], namespace: str) -> list[ObjectKey]:
    """List the objects that a generic Channel names."""
    return dead_letter_reference(spec, namespace)


def backing_kind(spec: Mapping[str, Any]) -> tuple[ObjectKind, str]:
    """Return kind and version of the backing channel."""
    template = spec.get("channelTemplate")
    if not template:
        return HEADRACE_CHANNEL, VERSIONS[0]
    kind = kind_of(template["apiVersion"], template["kind"])
    assert kind is not None  # noqa: S101  admission has checked it
    return kind, template["apiVersion"].partition("/")[2]


def backing_of(channel: Object) -> Manifest:
    """Return the manifest of the backing channel. The Channel's own delivery takes precedence over its template's."""
    kind, version = backing_kind(channel.spec)
    spec = dict((channel.spec.get("channelTemplate") or {}).get("spec") or {})
    if channel.spec.get("delivery") is not None:
        spec["delivery"] = channel.spec["delivery"]
    return Manifest(kind, version, channel.namespace, channel.name, spec, channel.labels)


def act(deployment: Deployment, channel: Object) -> bool:  # noqa: ARG001
    """Do nothing: the backing channel, an object of its own, takes the events."""
    return False


def observe(deployment: Deployment, channel: Object) -> Observation:
    """Return the state of the backing channel and its subscribers."""
    kind, version = backing_kind(channel.spec)
    backing = deployment.registry.get(ObjectKey(kind, channel.namespace, channel.name))
    if backing is None:
        return Observation((is_false(_BACKING, "NotThere", "its backing channel was not created yet"),))
    seen = channels.observe(deployment, backing)
    reference = {"apiVersion": kind.api_version(version), "kind": kind.name}
    reference |= {"name": backing.name, "namespace": backing.namespace}
    [addressable] = [each for each in seen.conditions if each.type == ADDRESSABLE]
    return Observation((_backing_ready(seen), addressable), {"channel": reference, **seen.status})


def _backing_ready(backing: Observation) -> Condition:
    unready = next((each for each in backing.conditions if each.status != TRUE), None)
    return is_true(_BACKING) if unready is None else replace(unready, type=_BACKING)

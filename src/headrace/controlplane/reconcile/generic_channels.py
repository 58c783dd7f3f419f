"""The generic Channel: it stands on another channel, to which subscriptions append, and shows its address."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.controlplane.conditions import TRUE, Condition, is_false, is_true
from headrace.controlplane.kinds import HEADRACE_CHANNEL, VERSIONS, kind_of
from headrace.controlplane.manifest import Manifest
from headrace.controlplane.objects import Key
from headrace.controlplane.reconcile import channels
from headrace.controlplane.reconcile.addressables import ADDRESSABLE, dead_letter_reference
from headrace.controlplane.reconcile.outcome import Seen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.controlplane.deployment import Deployment
    from headrace.controlplane.kinds import Kind
    from headrace.controlplane.objects import Object

_BACKING = "BackingChannelReady"


def references(spec: Mapping[str, Any], namespace: str) -> list[Key]:
    """List the objects that it names."""
    return dead_letter_reference(spec, namespace)


def backing_kind(spec: Mapping[str, Any]) -> tuple[Kind, str]:
    """Return the kind and version of the channel that it stands on."""
    template = spec.get("channelTemplate")
    if not template:
        return HEADRACE_CHANNEL, VERSIONS[0]
    kind = kind_of(template["apiVersion"], template["kind"])
    assert kind is not None  # noqa: S101  admission has seen to it
    return kind, template["apiVersion"].partition("/")[2]


def backing_of(channel: Object) -> Manifest:
    """Return the channel that it stands on, as it should be. Its own delivery counts before its template's."""
    kind, version = backing_kind(channel.spec)
    spec = dict((channel.spec.get("channelTemplate") or {}).get("spec") or {})
    if channel.spec.get("delivery") is not None:
        spec["delivery"] = channel.spec["delivery"]
    return Manifest(kind, version, channel.namespace, channel.name, spec, channel.labels)


def act(deployment: Deployment, channel: Object) -> bool:  # noqa: ARG001
    """Do nothing: what carries events is the channel that it stands on, an object of its own."""
    return False


def observe(deployment: Deployment, channel: Object) -> Seen:
    """Say how the channel fares that it stands on, and its subscribers there."""
    kind, version = backing_kind(channel.spec)
    backing = deployment.registry.get(Key(kind, channel.namespace, channel.name))
    if backing is None:
        return Seen((is_false(_BACKING, "NotThere", "the channel that it stands on was not made yet"),))
    seen = channels.observe(deployment, backing)
    stands_on = {"apiVersion": kind.api_version(version), "kind": kind.name}
    stands_on |= {"name": backing.name, "namespace": backing.namespace}
    [addressable] = [each for each in seen.conditions if each.type == ADDRESSABLE]
    return Seen((_standing(seen), addressable), {"channel": stands_on, **seen.status})


def _standing(backing: Seen) -> Condition:
    unready = next((each for each in backing.conditions if each.status != TRUE), None)
    return is_true(_BACKING) if unready is None else replace(unready, type=_BACKING)

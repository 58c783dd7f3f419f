"""The checks of each kind, and `admit`, which applies them to manifests and for the cluster's webhook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.controlplane.admission.brokers import check_broker_spec, warn_of_broker
from headrace.controlplane.admission.channels import check_channel_spec, check_generic_channel
from headrace.controlplane.admission.subscriptions import check_subscription_spec
from headrace.controlplane.admission.triggers import broker_of, check_trigger_spec, warn_of_trigger
from headrace.controlplane.kinds import (
    BROKER,
    CHANNEL,
    HEADRACE_CHANNEL,
    IN_MEMORY_CHANNEL,
    SUBSCRIPTION,
    TRIGGER,
    ObjectKind,
)
from headrace.errors import InvalidManifest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.controlplane.manifest import Manifest
    from headrace.documents.faults import Faults

_CHECKS: dict[ObjectKind, Callable[[Manifest], Faults]] = {
    HEADRACE_CHANNEL: check_channel_spec,
    IN_MEMORY_CHANNEL: check_channel_spec,
    CHANNEL: check_generic_channel,
    BROKER: check_broker_spec,
    SUBSCRIPTION: check_subscription_spec,
    TRIGGER: check_trigger_spec,
}
_WARNINGS: dict[ObjectKind, Callable[[Manifest], list[str]]] = {
    BROKER: warn_of_broker,
    TRIGGER: warn_of_trigger,
}


def _channel_of(spec: Mapping[str, Any]) -> Any:
    ref = spec.get("channel") or {}
    return ref.get("kind"), ref.get("name")


def _template_of(spec: Mapping[str, Any]) -> Any:
    return (spec.get("channelTemplate") or {}).get("kind")


_IMMUTABLE: dict[ObjectKind, tuple[str, Callable[[Mapping[str, Any]], Any]]] = {
    TRIGGER: ("spec.broker", broker_of),
    SUBSCRIPTION: ("spec.channel", _channel_of),
    CHANNEL: ("spec.channelTemplate", _template_of),
}


def admit(manifest: Manifest, old: Mapping[str, Any] | None = None) -> list[str]:
    """Check a spec, and its change from the old one if any. Return warnings; InvalidManifest lists every fault."""
    faults = _CHECKS[manifest.kind](manifest)
    if not faults and old is not None and manifest.kind in _IMMUTABLE:
        path, read = _IMMUTABLE[manifest.kind]
        if read(old) != read(manifest.spec):
            faults.append((path, "can't be changed; delete the object and apply it again"))
    if faults:
        raise InvalidManifest(faults)
    return _WARNINGS[manifest.kind](manifest) if manifest.kind in _WARNINGS else []

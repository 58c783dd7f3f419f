"""Brokers: a channel that triggers listen to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.controlplane.admission.deliveries import check_delivery_of
from headrace.controlplane.admission.members import check_members

if TYPE_CHECKING:
    from headrace.controlplane.manifest import Manifest
    from headrace.documents.faults import Faults

CLASS, OWN_CLASS = "eventing.knative.dev/broker.class", "Headrace"


def check_broker_spec(manifest: Manifest) -> Faults:
    """Tell what is wrong with it."""
    spec = dict(manifest.spec)
    faults = check_members(spec, "spec", ("config", "delivery"))
    return faults + check_delivery_of(spec, "spec", manifest.namespace)


def warn_of_broker(manifest: Manifest) -> list[str]:
    """Tell what is passed over: what another broker's machinery would read."""
    found = []
    if manifest.annotations.get(CLASS, OWN_CLASS) != OWN_CLASS:
        found.append(f"the annotation {CLASS} asks for another broker; this one is served by Headrace")
    if manifest.spec.get("config"):
        found.append("spec.config is not read; Headrace has settings of its own")
    return found

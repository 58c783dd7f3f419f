"""Checks of brokers, which are channels that triggers listen to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.controlplane.admission.parts import check_delivery_of, check_members

if TYPE_CHECKING:
    from headrace.controlplane.manifest import Manifest
    from headrace.documents.faults import Faults

CLASS, OWN_CLASS = "eventing.knative.dev/broker.class", "Headrace"


def check_broker_spec(manifest: Manifest) -> Faults:
    """Return the faults of a broker's spec."""
    spec = dict(manifest.spec)
    faults = check_members(spec, "spec", ("config", "delivery"))
    return faults + check_delivery_of(spec, "spec", manifest.namespace)


def warn_of_broker(manifest: Manifest) -> list[str]:
    """Return warnings of what is ignored, because it is meant for other broker implementations."""
    found = []
    if manifest.annotations.get(CLASS, OWN_CLASS) != OWN_CLASS:
        found.append(f"the annotation {CLASS} names another broker class; this broker is served by Headrace")
    if manifest.spec.get("config"):
        found.append("spec.config is ignored; Headrace has settings of its own")
    return found

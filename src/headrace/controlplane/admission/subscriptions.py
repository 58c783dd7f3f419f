"""Checks of Subscriptions: which channel, who gets its events, and where replies go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.controlplane.admission.parts import (
    check_delivery_of,
    check_destination,
    check_members,
    check_reference,
    refers_to,
)
from headrace.controlplane.kinds import CHANNELS

if TYPE_CHECKING:
    from headrace.controlplane.manifest import Manifest
    from headrace.documents.faults import Faults


def check_subscription_spec(manifest: Manifest) -> Faults:
    """Return the faults of a Subscription's spec."""
    spec = dict(manifest.spec)
    faults = check_members(spec, "spec", ("channel", "subscriber", "reply", "delivery"))
    if spec.get("channel") is None:
        faults.append(("spec.channel", "is required: a reference to a channel"))
    else:
        faults += check_reference(spec["channel"], "spec.channel", manifest.namespace, CHANNELS)
    given = [name for name in ("subscriber", "reply") if spec.get(name) is not None]
    if not given:
        faults.append(("spec", "has neither subscriber nor reply; one of them is required"))
    for name in given:
        faults += check_destination(spec[name], f"spec.{name}", manifest.namespace)
    if given and not faults and refers_to(spec[given[0]], spec["channel"]["name"]):
        faults.append(
            (f"spec.{given[0]}", "is the channel itself, so that each event would circulate for ever")
        )
    return faults + check_delivery_of(spec, "spec", manifest.namespace)

"""Broker: a channel that triggers listen to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.controlplane.conditions import Observation
from headrace.controlplane.reconcile.addressables import dead_letter_reference, ensure_channel, see_address

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.controlplane.deployment import Deployment
    from headrace.controlplane.objects import Object, ObjectKey


def references(spec: Mapping[str, Any], namespace: str) -> list[ObjectKey]:
    """List the objects that a broker names."""
    return dead_letter_reference(spec, namespace)


def act(deployment: Deployment, broker: Object) -> bool:
    """Create the channel; tell whether it was created."""
    return ensure_channel(deployment, broker)


def observe(deployment: Deployment, broker: Object) -> Observation:
    """Return the state of a broker."""
    conditions, status = see_address(deployment, broker)
    return Observation(tuple(conditions), status)

"""Broker: a channel that triggers listen to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.controlplane.reconcile.addressables import dead_letter_reference, ensure_channel, see_address
from headrace.controlplane.reconcile.outcome import Seen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.controlplane.deployment import Deployment
    from headrace.controlplane.objects import Key, Object


def references(spec: Mapping[str, Any], namespace: str) -> list[Key]:
    """List the objects that it names."""
    return dead_letter_reference(spec, namespace)


def act(deployment: Deployment, broker: Object) -> bool:
    """Make the channel; tell whether it was made."""
    return ensure_channel(deployment, broker)


def observe(deployment: Deployment, broker: Object) -> Seen:
    """Say how it fares."""
    conditions, status = see_address(deployment, broker)
    return Seen(tuple(conditions), status)

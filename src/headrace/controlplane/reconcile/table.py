"""The functions of each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.controlplane.kinds import (
    BROKER,
    CHANNEL,
    HEADRACE_CHANNEL,
    IN_MEMORY_CHANNEL,
    SUBSCRIPTION,
    TRIGGER,
    ObjectKind,
)
from headrace.controlplane.reconcile import brokers, channels, generic_channels, subscriptions, triggers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.controlplane.conditions import Observation
    from headrace.controlplane.deployment import Deployment
    from headrace.controlplane.objects import Object, ObjectKey


class Reconciler(NamedTuple):
    """The three functions of a kind."""

    references: Callable[[Mapping[str, Any], str], list[ObjectKey]]
    act: Callable[[Deployment, Object], bool]
    observe: Callable[[Deployment, Object], Observation]


RECONCILERS: dict[ObjectKind, Reconciler] = {
    kind: Reconciler(module.references, module.act, module.observe)
    for kind, module in (
        (HEADRACE_CHANNEL, channels),
        (IN_MEMORY_CHANNEL, channels),
        (CHANNEL, generic_channels),
        (BROKER, brokers),
        (SUBSCRIPTION, subscriptions),
        (TRIGGER, triggers),
    )
}

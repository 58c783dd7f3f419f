"""Addressable objects: each is a channel of the store."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headrace.controlplane.conditions import Condition, is_false, is_true
from headrace.controlplane.deployment import Unresolved, reference_of
from headrace.errors import Conflict, NotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.controlplane.deployment import Deployment
    from headrace.controlplane.objects import Object, ObjectKey

ADDRESSABLE, DEAD_LETTERS = "Addressable", "DeadLetterSinkResolved"


def ensure_channel(deployment: Deployment, owner: Object) -> bool:
    """Create the channel, or set its delivery object; tell whether it was created."""
    store = deployment.store
    delivery = _delivery(deployment, owner)
    if owner.channel not in store.channels():
        with suppress(Conflict):  # another process has just created it
            store.create_channel(owner.channel, delivery, along=deployment.along)
            return True
    if store.channel_deliveries().get(owner.channel) != delivery:
        store.change_channel(owner.channel, delivery, deployment.along)
    return False


def remove_channel(deployment: Deployment, owner: Object) -> None:
    """Delete the channel that was created for an object, unless it has other subscriptions by now."""
    if owner.made_channel:
        with suppress(Conflict, NotFound):  # it has other subscriptions, or is deleted already
            deployment.store.delete_channel(owner.channel, deployment.along)


def _delivery(deployment: Deployment, owner: Object) -> dict[str, Any] | None:
    try:
        return deployment.resolve_delivery(owner.spec, owner.namespace)
    except Unresolved:
        return {name: value for name, value in owner.spec["delivery"].items() if name != "deadLetterSink"}


def dead_letter_reference(spec: Mapping[str, Any], namespace: str) -> list[ObjectKey]:
    """List the object to which the dead-letter sink of a spec refers, if any."""
    key = reference_of((spec.get("delivery") or {}).get("deadLetterSink"), namespace)
    return [key] if key else []


def see_address(deployment: Deployment, owner: Object) -> tuple[list[Condition], dict[str, Any]]:
    """Return the conditions and the status of an address; the status has the address only if it takes events."""
    conditions: list[Condition] = []
    status: dict[str, Any] = {}
    if owner.channel in deployment.store.channels():
        conditions.append(is_true(ADDRESSABLE))
        status |= {"address": {"url": deployment.url_of(owner.channel)}, "addressable": "True"}
    else:
        gone = "its channel was deleted by hand; apply the object again"
        conditions.append(is_false(ADDRESSABLE, "ChannelMissing", gone))
    return conditions + see_dead_letters(deployment, owner, status), status


def see_dead_letters(deployment: Deployment, owner: Object, status: dict[str, Any]) -> list[Condition]:
    """Return the condition of the dead-letter sink, if there is one, and add its address to the status."""
    sink = (owner.spec.get("delivery") or {}).get("deadLetterSink")
    if sink is None:
        return []
    try:
        status["deadLetterSinkUri"] = deployment.resolve(sink, owner.namespace)
    except Unresolved as error:
        return [is_false(DEAD_LETTERS, "NotResolved", str(error))]
    return [is_true(DEAD_LETTERS)]

"""A HeadraceChannel of the cluster and its image in Headrace: what is applied there, and the status that comes back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.controlplane.conditions import FALSE, READY, TRUE, Condition, dated, with_ready
from headrace.controlplane.kinds import HEADRACE_CHANNEL
from headrace.controlplane.objects import SUBSCRIBABLE
from headrace.controlplane.operator.references import with_addresses
from headrace.controlplane.reconcile.addressables import ADDRESSABLE, DEAD_LETTERS
from headrace.errors import ServiceRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.client import Client
    from headrace.controlplane.operator.references import Resolve

MANAGED_BY = "app.kubernetes.io/managed-by"
OPERATOR = "headrace-operator"
_REFUSED = 400
_ABSENT = ("address", "addressable", "deadLetterSinkUri")


async def mirror(client: Client, resolve: Resolve, body: Mapping[str, Any]) -> dict[str, Any]:
    """Bring Headrace to what the object says, and return the object's status.

    What Headrace refuses is said in the status; a Headrace that can't be reached is an error, and it is tried again.
    """
    metadata = body["metadata"]
    spec, missing = await with_addresses(body.get("spec") or {}, metadata["namespace"], resolve)
    try:
        [applied] = await client.apply([_manifest(metadata, spec)])
    except ServiceRefused as refusal:
        if refusal.status != _REFUSED:
            raise
        return _status(body, {}, [Condition(ADDRESSABLE, FALSE, "Refused", str(refusal))])
    shown = applied["object"]["status"]
    return _status(body, shown, [*_conditions(shown["conditions"]), *_missing(missing)])


async def unmirror(client: Client, body: Mapping[str, Any]) -> None:
    """Remove the object's image, with its subscriptions; that it is gone already is fine."""
    metadata = body["metadata"]
    try:
        await client.delete_object(HEADRACE_CHANNEL.plural, metadata["namespace"], metadata["name"])
    except ServiceRefused as refusal:
        if refusal.status != 404:
            raise


def _manifest(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": HEADRACE_CHANNEL.api_version("v1"),
        "kind": HEADRACE_CHANNEL.name,
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "labels": {**(metadata.get("labels") or {}), MANAGED_BY: OPERATOR},
            "annotations": {SUBSCRIBABLE: subscribable(metadata)},
        },
        "spec": spec,
    }


def subscribable(metadata: Mapping[str, Any]) -> str:
    """Return the version of the duck type that the object says it conforms to."""
    return str((metadata.get("annotations") or {}).get(SUBSCRIBABLE, "v1"))


def _conditions(shown: list[dict[str, Any]]) -> list[Condition]:
    return [
        Condition(each["type"], each["status"], each.get("reason", ""), each.get("message", ""))
        for each in shown
        if each["type"] != READY
    ]


def _missing(missing: list[str]) -> list[Condition]:
    return [Condition(DEAD_LETTERS, FALSE, "NotResolved", "; ".join(missing))] if missing else []


def _status(body: Mapping[str, Any], shown: Mapping[str, Any], conditions: list[Condition]) -> dict[str, Any]:
    """Return a status to merge into the object's: what is no longer true is null, and so is removed."""
    old = [
        Condition(each["type"], each["status"], since=each.get("lastTransitionTime", ""))
        for each in (body.get("status") or {}).get("conditions") or []
    ]
    last = {each.type: each for each in conditions}  # of two that say the same, the later one counts
    new = dated(with_ready(last.values()), old)
    status: dict[str, Any] = {
        "observedGeneration": body["metadata"].get("generation", 0),
        "conditions": [replace(each).document() for each in new],
        "subscribers": shown.get("subscribers", []),
    }
    known = body.get("status") or {}
    return status | {name: shown.get(name) for name in _ABSENT if name in shown or name in known}


def is_ready(status: Mapping[str, Any]) -> bool:
    """Tell whether a status says that all is well."""
    return any(each["type"] == READY and each["status"] == TRUE for each in status.get("conditions") or [])

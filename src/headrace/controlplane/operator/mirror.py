"""A HeadraceChannel of the cluster and its copy in Headrace: what is applied there, and the resulting status."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.controlplane.conditions import FALSE, READY, UNKNOWN, Condition, dated, with_ready
from headrace.controlplane.kinds import HEADRACE_CHANNEL
from headrace.controlplane.objects import SUBSCRIBABLE
from headrace.controlplane.operator.references import with_addresses
from headrace.controlplane.reconcile.addressables import ADDRESSABLE, DEAD_LETTERS
from headrace.errors import (
    ClusterRefused,
    ConfigError,
    Forbidden,
    QuotaExceeded,
    ServiceRefused,
    ServiceUnreachable,
    Unauthenticated,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.client import Client
    from headrace.controlplane.operator.references import Resolve
    from headrace.errors import HeadraceError

MANAGED_BY = "app.kubernetes.io/managed-by"
OPERATOR = "headrace-operator"
RECONCILED = "Reconciled"
"""A condition that exists only while it is false: the object could not be applied."""
_REFUSED = 400
_REFUSALS = {
    Unauthenticated.code: "AccessRefused",
    Forbidden.code: "AccessRefused",
    QuotaExceeded.code: "QuotaExceeded",
}
_REASONS: dict[type[HeadraceError], str] = {
    ServiceUnreachable: "HeadraceUnreachable",
    ClusterRefused: "ClusterRefused",
    ConfigError: "TokenMissing",
}
_ABSENT = ("address", "addressable", "deadLetterSinkUri")


async def mirror(client: Client, resolve: Resolve, body: Mapping[str, Any]) -> dict[str, Any]:
    """Apply the object to Headrace, and return its status.

    A refusal by Headrace becomes part of the status; an unreachable Headrace is an error, after which kopf tries again.
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
    """Delete the object's copy with its subscriptions, if it still exists."""
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
    """Return the version of the duck type to which the object conforms."""
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
    """Return a status to merge into the object's; null removes members that no longer hold."""
    old = _kept(body.get("status") or {})
    last = {each.type: each for each in conditions}  # of two of one type the later one counts
    new = dated(with_ready(last.values()), old)
    status: dict[str, Any] = {
        "observedGeneration": body["metadata"].get("generation", 0),
        "conditions": [replace(each).document() for each in new],
        "subscribers": shown.get("subscribers", []),
    }
    known = body.get("status") or {}
    return status | {name: shown.get(name) for name in _ABSENT if name in shown or name in known}


def unreconciled(body: Mapping[str, Any], error: HeadraceError) -> dict[str, Any]:
    """Return the status of an object that could not be applied: what is known stays, and the reason is added.

    A channel that was ready still takes events; it becomes unknown only for a new spec that was not applied.
    """
    known = body.get("status") or {}
    old = _kept(known)
    failed = Condition(RECONCILED, FALSE, reason_of(error), str(error))
    others = [each for each in old if each.type not in (RECONCILED, READY)]
    ready = next((each for each in old if each.type == READY), None)
    if ready is None or known.get("observedGeneration") != body["metadata"].get("generation", 0):
        ready = replace(failed, type=READY, status=UNKNOWN)
    return {"conditions": [each.document() for each in dated([ready, *others, failed], old)]}


def reason_of(error: HeadraceError) -> str:
    """Return the reason of an error for conditions and events of the cluster."""
    if isinstance(error, ServiceRefused):
        return _REFUSALS.get(str(error.problem.get("code")), "HeadraceFailed")
    return _REASONS.get(type(error), "Failed")


def _kept(status: Mapping[str, Any]) -> list[Condition]:
    """Parse the conditions of a status."""
    return [
        Condition(
            each["type"],
            each["status"],
            each.get("reason", ""),
            each.get("message", ""),
            each.get("lastTransitionTime", ""),
        )
        for each in status.get("conditions") or []
    ]

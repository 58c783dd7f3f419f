"""Objects as they are shown: in Kubernetes' form, with their current status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.controlplane.kinds import BACKING, CHANNEL

if TYPE_CHECKING:
    from headrace.controlplane.conditions import Observation
    from headrace.controlplane.objects import Object


def document_of(shown: Object, seen: Observation) -> dict[str, Any]:
    """Return an object as a document."""
    return {
        "apiVersion": shown.kind.api_version(shown.version),
        "kind": shown.kind.name,
        "metadata": _metadata(shown),
        "spec": _spec(shown, seen),
        "status": {
            "observedGeneration": shown.observed,
            "conditions": [each.document() for each in shown.conditions],
            **seen.status,
        },
    }


def _metadata(shown: Object) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": shown.name,
        "namespace": shown.namespace,
        "uid": shown.uid,
        "generation": shown.generation,
        "resourceVersion": shown.resource_version,
        "creationTimestamp": shown.created,
    }
    for name, given in (("labels", shown.labels), ("annotations", shown.annotations)):
        if given:
            metadata[name] = dict(given)
    if shown.owner is not None:  # only a generic Channel owns an object, which has the same name
        owner = {"apiVersion": CHANNEL.api_version("v1"), "kind": CHANNEL.name, "name": shown.name}
        metadata["ownerReferences"] = [{**owner, "uid": shown.owner, "controller": True}]
    return metadata


def _spec(shown: Object, seen: Observation) -> dict[str, Any]:
    spec = dict(shown.spec)
    if shown.kind in BACKING:
        spec.pop("subscribers", None)
        if seen.subscribers:
            spec["subscribers"] = list(seen.subscribers)
    return spec

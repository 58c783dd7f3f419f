"""Admission reviews, which the API server requests before it stores an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.controlplane.admission.table import admit
from headrace.controlplane.admission.triggers import check_filters, warn_of_trigger
from headrace.controlplane.kinds import HEADRACE_CHANNEL, TRIGGER, kind_of
from headrace.controlplane.manifest import read_manifest
from headrace.controlplane.operator.references import with_addresses
from headrace.errors import InvalidManifest, InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

_VERSION = "admission.k8s.io/v1"
_REVIEWED = ("CREATE", "UPDATE")


async def review(document: Any) -> dict[str, Any]:
    """Answer a review; raise InvalidRequest if the document isn't one."""
    request = document.get("request") if isinstance(document, dict) else None
    if not isinstance(request, dict) or document.get("apiVersion") != _VERSION or "uid" not in request:
        raise InvalidRequest([("", f"an AdmissionReview of {_VERSION} is expected")])
    answer: dict[str, Any] = {"uid": request["uid"], "allowed": True}
    try:
        warnings = await _check(request)
        answer |= {"warnings": warnings} if warnings else {}
    except InvalidManifest as refusal:
        answer |= {"allowed": False, "status": {"code": 400, "reason": "BadRequest", "message": str(refusal)}}
    return {"apiVersion": _VERSION, "kind": "AdmissionReview", "response": answer}


async def _check(request: Mapping[str, Any]) -> list[str]:
    shown = request.get("object")
    if request.get("operation") not in _REVIEWED or not isinstance(shown, dict):
        return []
    if (shown.get("metadata") or {}).get("deletionTimestamp"):
        return []  # a faulty spec must not keep an object from being deleted
    kind = kind_of(shown.get("apiVersion"), shown.get("kind"))
    if kind == HEADRACE_CHANNEL:
        return await _check_channel(shown)
    return _check_trigger(shown) if kind == TRIGGER else []


async def _check_channel(shown: dict[str, Any]) -> list[str]:
    manifest = read_manifest(shown)
    # Whether a reference can be resolved is found out later; here each one gets an address.
    spec, _ = await with_addresses(manifest.spec, manifest.namespace, _any_address)
    return admit(read_manifest({**shown, "spec": spec}))


async def _any_address(_ref: Mapping[str, Any], _namespace: str) -> str:
    return "http://sink.invalid/"


def _check_trigger(shown: dict[str, Any]) -> list[str]:
    """Check a trigger's filters. The rest is checked by the broker that serves it."""
    spec = shown.get("spec") or {}
    if faults := check_filters(spec):
        raise InvalidManifest(faults)
    return warn_of_trigger(read_manifest(shown))

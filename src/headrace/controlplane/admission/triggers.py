"""Triggers: an expression that can't be compiled is refused here with the place in it, not at the first event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.controlplane.admission.deliveries import check_delivery_of
from headrace.controlplane.admission.destinations import check_destination, check_reference, refers_to
from headrace.controlplane.admission.members import check_members
from headrace.controlplane.kinds import BROKER
from headrace.errors import FilterError, InvalidChannel
from headrace.filters import compile_trigger
from headrace.subscriptions.channels.name import check_channel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.controlplane.manifest import Manifest
    from headrace.documents.faults import Faults

DEFAULT_BROKER = "default"
_MEMBERS = ("broker", "brokerRef", "filter", "filters", "subscriber", "delivery")


def check_trigger_spec(manifest: Manifest) -> Faults:
    """Tell what is wrong with it."""
    spec = dict(manifest.spec)
    faults = check_members(spec, "spec", _MEMBERS)
    faults += _check_broker(spec, manifest.namespace)
    faults += check_filters(spec)
    if spec.get("subscriber") is None:
        faults.append(("spec.subscriber", "is required: who gets the events"))
    else:
        faults += check_destination(spec["subscriber"], "spec.subscriber", manifest.namespace)
    if not faults and refers_to(spec["subscriber"], broker_of(spec)):
        faults.append(("spec.subscriber", "is the broker itself, so that each event would go round for ever"))
    return faults + check_delivery_of(spec, "spec", manifest.namespace)


def check_filters(spec: Mapping[str, Any]) -> Faults:
    """Tell what is wrong with the filters of a trigger's spec: one dialect at the top of each, and it compiles."""
    if not isinstance(spec.get("filter") or {}, dict):
        return [("spec.filter", "has to be an object with one filter, such as {attributes: {type: order}}")]
    if not isinstance(spec.get("filters") or [], list):
        return [("spec.filters", "has to be a list of filters")]
    try:
        compile_trigger(spec)
    except FilterError as error:
        return [(path_of(error, spec), error.detail)]
    return []


def path_of(error: FilterError, spec: Mapping[str, Any]) -> str:
    """Return where in the object the fault lies."""
    if spec.get("filters"):
        return f"spec.{error.path or 'filters'}"
    inner = error.path.removeprefix("filters[0]").removeprefix("filters").removeprefix("filter")
    return f"spec.filter{inner}" if not inner or inner[0] in ".[" else f"spec.filter.{inner}"


def filters_of(spec: Mapping[str, Any]) -> list[Any]:
    """Return the filters that count, as a subscription has them."""
    if spec.get("filters"):
        return list(spec["filters"])
    return [spec["filter"]] if spec.get("filter") else []


def broker_of(spec: Mapping[str, Any]) -> str:
    """Return the name of the broker that it listens to."""
    ref = spec.get("brokerRef") or {}
    return str(spec.get("broker") or ref.get("name") or DEFAULT_BROKER)


def warn_of_trigger(manifest: Manifest) -> list[str]:
    """Tell what doesn't count, and what the filters' author should know."""
    notes = list(compile_trigger(manifest.spec).notes)
    if manifest.spec.get("filters") and manifest.spec.get("filter"):
        notes.append("spec.filter doesn't count, because spec.filters is there")
    return notes


def _check_broker(spec: Mapping[str, Any], namespace: str) -> Faults:
    faults: Faults = []
    if spec.get("broker") and spec.get("brokerRef"):
        faults.append(("spec.brokerRef", "give either broker or brokerRef"))
    if spec.get("brokerRef") is not None:
        faults += check_reference(spec["brokerRef"], "spec.brokerRef", namespace, (BROKER,))
    if spec.get("broker") is not None:
        try:
            check_channel(namespace, spec["broker"])
        except InvalidChannel as error:
            faults.append(("spec.broker", str(error).partition(": ")[2]))
    return faults

"""Checks of triggers: a filter that doesn't compile is refused here with the position of its fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.controlplane.admission.parts import (
    check_delivery_of,
    check_destination,
    check_members,
    check_reference,
    refers_to,
)
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
    """Return the faults of a trigger's spec."""
    spec = dict(manifest.spec)
    faults = check_members(spec, "spec", _MEMBERS)
    faults += _check_broker(spec, manifest.namespace)
    faults += check_filters(spec)
    if spec.get("subscriber") is None:
        faults.append(("spec.subscriber", "is required: who gets the events"))
    else:
        faults += check_destination(spec["subscriber"], "spec.subscriber", manifest.namespace)
    if not faults and refers_to(spec["subscriber"], broker_of(spec)):
        faults.append(
            ("spec.subscriber", "is the broker itself, so that each event would circulate for ever")
        )
    return faults + check_delivery_of(spec, "spec", manifest.namespace)


def check_filters(spec: Mapping[str, Any]) -> Faults:
    """Return the faults of a trigger's filters: each has one dialect at the top, and has to compile."""
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
    """Return the path of the fault in the object."""
    if spec.get("filters"):
        return f"spec.{error.path or 'filters'}"
    inner = error.path.removeprefix("filters[0]").removeprefix("filters").removeprefix("filter")
    return f"spec.filter{inner}" if not inner or inner[0] in ".[" else f"spec.filter.{inner}"


def filters_of(spec: Mapping[str, Any]) -> list[Any]:
    """Return the filters in effect, as a subscription has them: `filters` takes precedence over `filter`."""
    if spec.get("filters"):
        return list(spec["filters"])
    return [spec["filter"]] if spec.get("filter") else []


def broker_of(spec: Mapping[str, Any]) -> str:
    """Return the name of the trigger's broker."""
    ref = spec.get("brokerRef") or {}
    return str(spec.get("broker") or ref.get("name") or DEFAULT_BROKER)


def warn_of_trigger(manifest: Manifest) -> list[str]:
    """Return warnings of what is ignored, and notes on the filters."""
    notes = list(compile_trigger(manifest.spec).notes)
    if manifest.spec.get("filters") and manifest.spec.get("filter"):
        notes.append("spec.filter is ignored, because there is spec.filters")
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

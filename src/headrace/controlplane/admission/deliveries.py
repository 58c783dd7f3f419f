"""`spec.delivery`: Knative's delivery object, with a dead-letter sink that may be a reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.controlplane.admission.destinations import check_destination
from headrace.subscriptions.delivery.spec import check_delivery

if TYPE_CHECKING:
    from headrace.documents.faults import Faults


def check_delivery_of(spec: dict[str, Any], path: str, namespace: str) -> Faults:
    """Tell what is wrong with the delivery object of a spec, if it has one."""
    delivery = spec.get("delivery")
    if delivery is None:
        return []
    if not isinstance(delivery, dict):
        return check_delivery(delivery, f"{path}.delivery")
    rest = {name: value for name, value in delivery.items() if name != "deadLetterSink" and value is not None}
    faults = check_delivery(rest, f"{path}.delivery")
    if (sink := delivery.get("deadLetterSink")) is not None:
        faults += check_destination(sink, f"{path}.delivery.deadLetterSink", namespace)
    return faults

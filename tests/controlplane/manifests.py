"""Manifests for the tests."""

from typing import Any

EVENTING, MESSAGING, OWN = "eventing.knative.dev/v1", "messaging.knative.dev/v1", "messaging.headrace.dev/v1"
SINK = {"uri": "http://sink.example/in"}


def manifest(
    kind: str, api_version: str, name: str, spec: dict[str, Any] | None = None, **metadata: Any
) -> dict[str, Any]:
    made: dict[str, Any] = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}}
    return made if spec is None else made | {"spec": spec}


def broker(name: str = "default", **spec: Any) -> dict[str, Any]:
    return manifest("Broker", EVENTING, name, spec)


def trigger(name: str = "t", **spec: Any) -> dict[str, Any]:
    return manifest("Trigger", EVENTING, name, {"broker": "default", "subscriber": SINK} | spec)


def channel(
    name: str = "c", kind: str = "HeadraceChannel", api_version: str = OWN, **spec: Any
) -> dict[str, Any]:
    return manifest(kind, api_version, name, spec)


def generic(name: str = "c", **spec: Any) -> dict[str, Any]:
    return manifest("Channel", MESSAGING, name, spec)


def subscription(
    name: str = "s", to: str = "c", kind: str = "Channel", api_version: str = MESSAGING, **spec: Any
) -> dict[str, Any]:
    ref = {"apiVersion": api_version, "kind": kind, "name": to}
    return manifest("Subscription", MESSAGING, name, {"channel": ref, "subscriber": SINK} | spec)


def ref_to(kind: str, name: str, api_version: str = MESSAGING) -> dict[str, Any]:
    return {"ref": {"apiVersion": api_version, "kind": kind, "name": name}}

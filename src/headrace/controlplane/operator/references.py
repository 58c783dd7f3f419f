"""References to objects of the cluster: any object with an address can be a dead-letter sink."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from headrace.errors import ClusterRefused

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from headrace.controlplane.operator.cluster import Cluster

    Resolve = Callable[[Mapping[str, Any], str], Awaitable[str | None]]

_CORE = ("", "v1")


async def with_addresses(
    spec: Mapping[str, Any], namespace: str, resolve: Resolve
) -> tuple[dict[str, Any], list[str]]:
    """Return a channel's spec with references replaced by addresses, and the references that couldn't be resolved.

    A dead-letter sink without an address is left out: the channel works, and its status says what is missing.
    """
    missing: list[str] = []
    resolved = await _with_delivery(spec, namespace, resolve, missing)
    if spec.get("subscribers"):
        resolved["subscribers"] = [
            await _with_delivery(each, namespace, resolve, missing) for each in spec["subscribers"]
        ]
    return resolved, missing


async def _with_delivery(
    holder: Mapping[str, Any], namespace: str, resolve: Resolve, missing: list[str]
) -> dict[str, Any]:
    sink = (holder.get("delivery") or {}).get("deadLetterSink") or {}
    if not sink.get("ref"):
        return dict(holder)
    delivery = dict(holder["delivery"])
    address = await resolve(sink["ref"], namespace)
    if address is None:
        del delivery["deadLetterSink"]
        ref = sink["ref"]
        missing.append(
            f"{ref.get('kind')} {ref.get('namespace') or namespace}/{ref.get('name')} has no address"
        )
    else:
        uri = sink.get("uri")
        delivery["deadLetterSink"] = {
            "uri": urljoin(address.rstrip("/") + "/", uri.lstrip("/")) if uri else address
        }
    return {**holder, "delivery": delivery}


class Resolver:
    """Asks the cluster. The address of a Service follows from its name; other objects have it in their status."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._plurals: dict[tuple[str, str], str] = {}

    async def resolve(self, ref: Mapping[str, Any], namespace: str) -> str | None:
        """Return the address of the referenced object, or None if it has none."""
        group, _, version = str(ref.get("apiVersion", "")).rpartition("/")
        namespace = ref.get("namespace") or namespace
        try:
            if (group, version) == _CORE and ref["kind"] == "Service":
                found = await self._cluster.get(f"/api/v1/namespaces/{namespace}/services/{ref['name']}")
                return f"http://{ref['name']}.{namespace}.svc.cluster.local" if found else None
            plural = await self._plural(group, version, ref["kind"])
            if plural is None:
                return None
            path = f"/apis/{group}/{version}/namespaces/{namespace}/{plural}/{ref['name']}"
            found = await self._cluster.get(path)
        except ClusterRefused as refusal:
            if refusal.status != 403:
                raise
            return None
        url = (((found or {}).get("status") or {}).get("address") or {}).get("url")
        return str(url) if url else None

    async def _plural(self, group: str, version: str, kind: str) -> str | None:
        known = self._plurals.get((f"{group}/{version}", kind))
        if known is None:
            served = await self._cluster.get(f"/apis/{group}/{version}") or {}
            for resource in served.get("resources", []):
                if "/" not in resource["name"]:
                    self._plurals[f"{group}/{version}", resource["kind"]] = resource["name"]
            known = self._plurals.get((f"{group}/{version}", kind))
        return known

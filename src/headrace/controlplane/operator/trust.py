"""What makes the API server trust the webhook: certificates in a Secret, and their authority in the configuration.

Several replicas share the Secret: the first one fills it, and the others use what they find there.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from headrace.controlplane.operator.certificates import Certificates, make_certificates
from headrace.errors import ClusterRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.controlplane.operator.cluster import Cluster

_CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
_MEMBERS = (("authority", "ca.crt"), ("certificate", "tls.crt"), ("key", "tls.key"))


async def certificates_of(
    cluster: Cluster, namespace: str, secret: str, names: Sequence[str]
) -> Certificates:
    """Return the certificates of the Secret; write new ones if they are missing or about to expire."""
    path = f"/api/v1/namespaces/{namespace}/secrets"
    for _ in range(2):
        found = await cluster.get(f"{path}/{secret}")
        kept = _read(found or {})
        if kept is not None and kept.are_good_for(names):
            return kept
        fresh = make_certificates(names)
        try:
            await _write(cluster, path, secret, found, fresh)
        except ClusterRefused as refusal:
            if refusal.status != 409:
                raise
        else:
            return fresh
    raise ClusterRefused(409, f"the secret {namespace}/{secret} is being changed by others; try again")


async def announce_authority(cluster: Cluster, configuration: str, certificates: Certificates) -> None:
    """Tell the API server which authority issued the webhook's certificate."""
    path = f"{_CONFIGURATIONS}/{configuration}"
    found = await cluster.get(path)
    if found is None:
        raise ClusterRefused(
            404, f"there is no ValidatingWebhookConfiguration {configuration!r}; apply deploy/knative first"
        )
    bundle = base64.b64encode(certificates.authority).decode()
    hooks = found.get("webhooks") or []
    if all(hook["clientConfig"].get("caBundle") == bundle for hook in hooks):
        return
    changed = [{**hook, "clientConfig": {**hook["clientConfig"], "caBundle": bundle}} for hook in hooks]
    version = {"resourceVersion": found["metadata"]["resourceVersion"]}
    await cluster.patch(path, {"metadata": version, "webhooks": changed})


def _read(secret: dict[str, Any]) -> Certificates | None:
    data = secret.get("data") or {}
    if not all(data.get(name) for _, name in _MEMBERS):
        return None
    return Certificates(**{member: base64.b64decode(data[name]) for member, name in _MEMBERS})


async def _write(
    cluster: Cluster, path: str, secret: str, found: dict[str, Any] | None, fresh: Certificates
) -> None:
    data = {name: base64.b64encode(getattr(fresh, member)).decode() for member, name in _MEMBERS}
    if found is None:
        document = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": secret}, "data": data}
        await cluster.create(path, document)
    else:
        version = {"resourceVersion": found["metadata"]["resourceVersion"]}
        await cluster.patch(f"{path}/{secret}", {"metadata": version, "data": data})

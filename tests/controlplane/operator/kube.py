"""What tests do with an API server: apply files of `deploy/`, make and read objects, write a kubeconfig."""

import asyncio
import json
import ssl
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]
from tests.controlplane.operator.real_apiserver import ADMIN

from headrace.controlplane.operator.cluster import Cluster
from headrace.errors import ClusterRefused

DEPLOY = Path(__file__).parents[3] / "deploy" / "knative"
PATHS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": "/api/v1/namespaces/{namespace}/serviceaccounts",
    "Secret": "/api/v1/namespaces/{namespace}/secrets",
    "ConfigMap": "/api/v1/namespaces/{namespace}/configmaps",
    "Service": "/api/v1/namespaces/{namespace}/services",
    "Deployment": "/apis/apps/v1/namespaces/{namespace}/deployments",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "ValidatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
}


class _Login:
    def __init__(self, kube, token):
        self.server, self._ca, self._token = kube.server, kube.ca, token

    def as_http_headers(self):
        return {"Authorization": f"Bearer {self._token}"}

    def as_ssl_context(self):
        return ssl.create_default_context(cafile=str(self._ca))


def cluster_of(kube, token: str = ADMIN) -> Cluster:
    return Cluster(lambda: _Login(kube, token))


def documents(*names: str) -> list[dict[str, Any]]:
    """The documents of the files in `deploy/knative`, in their order."""
    paths = [DEPLOY / name for name in names] or sorted(DEPLOY.glob("[0-9]*.yaml"))
    return [document for path in paths for document in yaml.safe_load_all(path.read_text())]


async def install(cluster: Cluster, found: list[dict[str, Any]]) -> None:
    """Create them one after the other, as `kubectl apply -f deploy/knative/` does."""
    for document in found:
        path = PATHS[document["kind"]].format(namespace=document["metadata"].get("namespace"))
        await cluster.create(path, document)


def channel(name: str, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "messaging.headrace.dev/v1",
        "kind": "HeadraceChannel",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def path_of(name: str = "", namespace: str = "default", version: str = "v1") -> str:
    return f"/apis/messaging.headrace.dev/{version}/namespaces/{namespace}/headracechannels" + (
        name and f"/{name}"
    )


async def create_channel(cluster: Cluster, document: dict[str, Any]) -> dict[str, Any]:
    return await create(cluster, path_of(namespace=document["metadata"]["namespace"]), document)


async def create(cluster: Cluster, path: str, document: dict[str, Any]) -> dict[str, Any]:
    """Make an object, with some patience: a new kind is served a moment after it was defined."""
    for _ in range(200):
        try:
            return await cluster.create(path, document)
        except ClusterRefused as refusal:
            if refusal.status not in (404, 429):
                raise
            await asyncio.sleep(0.05)
    raise AssertionError(f"{path} is not served")


def write_kubeconfig(kube, folder: Path, token: str) -> Path:
    path = folder / "kubeconfig"
    ca = {"certificate-authority": str(kube.ca)} if kube.ca else {}
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": kube.server, **ca}}],
                "users": [{"name": "u", "user": {"token": token}}],
            }
        )
    )
    return path

"""The process of the operator: kopf and the webhook in one event loop."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import kopf

from headrace.controlplane.operator.cluster import Cluster
from headrace.controlplane.operator.handlers import make_settings, register
from headrace.controlplane.operator.references import Resolver
from headrace.controlplane.operator.trust import announce_authority, certificates_of
from headrace.controlplane.operator.webhook import make_server
from headrace.errors import ClusterRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.client import Client

_log = logging.getLogger(__name__)
_RENEW_SECONDS = 12 * 3600.0
_AGAIN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where the webhook listens, its host names, and the Secret and the configuration that make it trusted."""

    host: str
    port: int
    names: Sequence[str]
    namespace: str
    secret: str
    configuration: str


def log_in(**_: Any) -> kopf.ConnectionInfo:
    """Find the API server: as a pod does, or by a kubeconfig."""
    settings = kopf.OperatorSettings()
    found = kopf.login_with_service_account(settings=settings) or kopf.login_with_kubeconfig(
        settings=settings
    )
    if found is None:
        raise ClusterRefused(0, "found neither a service account nor a kubeconfig; set KUBECONFIG")
    return found


async def run_operator(
    client: Client,
    webhook: Webhook | None,
    *,
    namespaces: Sequence[str] = (),
    look_seconds: float = 30.0,
    stop: asyncio.Event,
) -> None:
    """Run the operator until told to stop."""
    cluster = Cluster(log_in)
    log_in()  # fail at once if that is impossible
    async with client:
        serving = asyncio.create_task(_serve(cluster, webhook)) if webhook else None
        try:
            await kopf.operator(
                registry=register(client, Resolver(cluster), log_in, look_seconds),
                settings=make_settings(),
                standalone=True,
                clusterwide=not namespaces,
                namespaces=namespaces,
                stop_flag=stop,
            )
        finally:
            if serving is not None:
                serving.cancel()
                with suppress(asyncio.CancelledError):
                    await serving


async def _serve(cluster: Cluster, webhook: Webhook) -> None:
    """Answer reviews for ever; renew certificates in time."""
    while True:
        try:
            held = await certificates_of(cluster, webhook.namespace, webhook.secret, webhook.names)
            server = make_server(held, webhook.host, webhook.port)
            serving = asyncio.create_task(server.serve())
            try:
                await announce_authority(cluster, webhook.configuration, held)
                _log.info("the webhook listens on https://%s:%d", webhook.host, webhook.port)
                await asyncio.wait([serving], timeout=_RENEW_SECONDS)
            finally:
                server.should_exit = True
                await serving
        except ClusterRefused as refusal:
            _log.warning("the webhook will be started again: %s", refusal)
            await asyncio.sleep(_AGAIN_SECONDS)

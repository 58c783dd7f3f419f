"""`headrace operator`: HeadraceChannel objects of a Kubernetes cluster."""

from __future__ import annotations

import asyncio
import signal

import click

from headrace.cli import options
from headrace.errors import ConfigError
from headrace.telemetry.logs import configure_logs


@click.command()
@click.option(
    "--namespace", "namespaces", multiple=True, help="Only this namespace; may be repeated. Without it, all."
)
@click.option(
    "--webhook-port",
    type=click.IntRange(0, 65535),
    default=9443,
    show_default=True,
    help="0 serves no web-hook.",
)
@click.option("--webhook-host", default="0.0.0.0", show_default=True, help="Where the web-hook listens.")  # noqa: S104
@click.option(
    "--webhook-name",
    "names",
    multiple=True,
    default=["headrace-webhook.headrace.svc"],
    show_default=True,
    help="By which name or address the API server calls it; may be repeated.",
)
@click.option("--webhook-namespace", default="headrace", show_default=True, help="Where its Secret is.")
@click.option(
    "--webhook-secret", default="headrace-webhook-certs", show_default=True, help="Keeps its certificates."
)
@click.option(
    "--webhook-configuration",
    default="validation.messaging.headrace.dev",
    show_default=True,
    help="The ValidatingWebhookConfiguration that is told whose certificates these are.",
)
@click.option(
    "--look-every",
    type=click.FloatRange(1),
    default=30.0,
    show_default=True,
    help="Seconds between looks at each object.",
)
@options.url
def operator(
    *,
    namespaces: tuple[str, ...],
    webhook_port: int,
    webhook_host: str,
    names: tuple[str, ...],
    webhook_namespace: str,
    webhook_secret: str,
    webhook_configuration: str,
    look_every: float,
    url: str,
) -> None:
    """Turn HeadraceChannel objects of a Kubernetes cluster into channels and subscriptions, and write their status.

    It finds the cluster as a pod does, or by KUBECONFIG, and answers the API server's admission reviews.

    \b
    Example:
      headrace operator --url http://headrace.headrace.svc
    """
    try:
        from headrace.controlplane.operator.process import Webhook, run_operator
    except ModuleNotFoundError as error:
        raise ConfigError(f"the operator needs {error.name}: pip install 'headrace[operator]'") from None
    configure_logs("%(asctime)s %(levelname)s %(name)s: %(message)s")
    webhook = Webhook(
        webhook_host, webhook_port, names, webhook_namespace, webhook_secret, webhook_configuration
    )

    async def run() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        hook = webhook if webhook_port else None
        await run_operator(
            options.connect(url), hook, namespaces=namespaces, look_seconds=look_every, stop=stop
        )

    asyncio.run(run())

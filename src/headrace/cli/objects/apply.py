"""`headrace apply`: bring Knative's objects to what manifests say."""

from __future__ import annotations

import asyncio
from typing import Any

import click
import msgspec

from headrace.cli import options
from headrace.cli.objects.manifests import file_option, namespace_option, read_files
from headrace.controlplane.manifest import DEFAULT_NAMESPACE


@click.command()
@file_option
@namespace_option
@click.option("--dry-run", is_flag=True, help="Check the manifests and say what would become of them.")
@options.url
@options.as_json
def apply(files: tuple[str, ...], namespace: str | None, dry_run: bool, url: str, as_json: bool) -> None:
    """Create or change channels, brokers, subscriptions and triggers by Knative's manifests, all of them or none.

    \b
    Examples:
      headrace apply -f triggers.yaml
      headrace apply -f manifests/ --dry-run
      kubectl get triggers -o yaml | headrace apply -f -
    """
    if not files:
        raise click.UsageError("give the manifests with -f")
    results = asyncio.run(_apply(read_files(files), namespace or DEFAULT_NAMESPACE, dry_run, url))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(results), indent=2))
        return
    for each in results:
        shown = f"{each['kind'].lower()} {each['namespace']}/{each['name']} {each['outcome']}"
        click.echo(shown + (" (dry run)" if dry_run else ""))
        for warning in each["warnings"]:
            click.echo(f"  warning: {warning}", err=True)


async def _apply(manifests: list[Any], namespace: str, dry_run: bool, url: str) -> list[dict[str, Any]]:
    async with options.connect(url) as client:
        return await client.apply(manifests, namespace=namespace, dry_run=dry_run)

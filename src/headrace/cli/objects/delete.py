"""`headrace delete`: end a subscription, or remove a channel or Knative's objects."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from headrace.cli import options
from headrace.cli.objects.manifests import file_option, namespace_option, read_files
from headrace.cli.objects.objects import NAMES
from headrace.controlplane.kinds import kind_called
from headrace.controlplane.manifest import DEFAULT_NAMESPACE, Manifest, read_manifest
from headrace.errors import ServiceRefused
from headrace.subscriptions.channels.name import ChannelName, parse_channel

_SUBSCRIPTION, _CHANNEL = ("subscription", "subscriptions"), ("channel", "channels")


@click.command()
@click.argument("what", nargs=-1, metavar="[ID | subscription ID | channel NAMESPACE/NAME | KIND NAME]")
@file_option
@namespace_option
@options.url
def delete(what: tuple[str, ...], files: tuple[str, ...], namespace: str | None, url: str) -> None:
    """End a subscription by its id, remove a channel, or Knative's objects by kind and name or by their manifests.

    A subscription that has ended gets no event accepted from now on, and what is not delivered yet is dropped. An
    object goes with its subscriptions and with the channel that was made for it.

    \b
    Examples:
      headrace delete 7f0c1f5e-0000-4000-8000-000000000000
      headrace delete channel shop/orders
      headrace delete trigger orders -n shop
      headrace delete -f triggers.yaml
    """
    if bool(what) == bool(files) or len(what) > 2:
        raise click.UsageError("give the id of a subscription, or a kind and a name, or manifests with -f")
    if len(what) == 1 or (what and what[0] in _SUBSCRIPTION):
        asyncio.run(_unsubscribe(what[-1], url))
        return
    if what and what[0] in _CHANNEL:
        asyncio.run(_delete_channel(parse_channel(what[1]), url))
        return
    targets = (
        [_target(each, namespace) for each in read_files(files)]
        if files
        else [_named(what[0], what[1], namespace)]
    )
    asyncio.run(_delete(targets, url, may_be_gone=bool(files)))


def _named(kind: str, name: str, namespace: str | None) -> tuple[str, str, str]:
    if kind not in NAMES:
        raise click.BadParameter(
            f"{kind!r} is no kind of objects; there are {', '.join((*_SUBSCRIPTION, *_CHANNEL, *NAMES))}",
            param_hint="KIND",
        )
    return kind_called(kind).plural, namespace or DEFAULT_NAMESPACE, name


def _target(document: Any, namespace: str | None) -> tuple[str, str, str]:
    manifest: Manifest = read_manifest(document, namespace or DEFAULT_NAMESPACE)
    return manifest.kind.plural, manifest.namespace, manifest.name


async def _unsubscribe(subscription_id: str, url: str) -> None:
    async with options.connect(url) as client:
        await client.unsubscribe(subscription_id)
    click.echo(f"deleted {subscription_id}")


async def _delete_channel(channel: ChannelName, url: str) -> None:
    async with options.connect(url) as client:
        await client.delete_channel(str(channel))
    click.echo(f"deleted channel {channel}")


async def _delete(targets: list[tuple[str, str, str]], url: str, *, may_be_gone: bool) -> None:
    """Delete them, the last first: what names others comes behind them in a file."""
    async with options.connect(url) as client:
        for kind, namespace, name in reversed(targets):
            try:
                await client.delete_object(kind, namespace, name)
            except ServiceRefused as refusal:
                if refusal.status != 404 or not may_be_gone:
                    raise
                click.echo(f"{kind} {namespace}/{name} was not there")
            else:
                click.echo(f"deleted {kind} {namespace}/{name}")

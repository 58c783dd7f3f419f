"""`headrace quotas`: what namespaces may have."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

from headrace.auth.audit import entries as audit
from headrace.auth.audit.entries import by_command, difference
from headrace.auth.quota_requests import parse_overrides
from headrace.auth.tables import FAMILY
from headrace.cli import options
from headrace.cli.tables import print_table
from headrace.config import load_config
from headrace.database.database import Database
from headrace.subscriptions.quotas.quotas import Overrides
from headrace.subscriptions.quotas.store import QuotaStore
from headrace.subscriptions.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.config import Config

_LIMIT = click.IntRange(0)


@click.group()
def quotas() -> None:
    """Show and set what namespaces may have: subscriptions, channels, events a second, cost of filters.

    Without --url these work on the database itself, where the service runs; with --url they ask a service.
    """


@quotas.command(name="list")
@options.service
@options.data
@options.config_file
@options.as_json
def list_(url: str | None, data: str | None, config_file: Path | None, as_json: bool) -> None:
    """Show the defaults, and what namespaces have of their own; 0 is no limit.

    \b
    Example:
      headrace quotas list
    """
    shown = asyncio.run(_ask(url)) if url is not None else _look(load_config(config_file, {"data": data}))
    if as_json:
        click.echo(msgspec.json.encode(shown))
        return
    names = list(shown["defaults"])
    rows = [("(default)", shown["defaults"]), *shown["namespaces"].items()]
    print_table(
        ["namespace", *names], [[space, *(str(own.get(name, "")) for name in names)] for space, own in rows]
    )


@quotas.command(name="set")
@click.argument("namespace")
@click.option("--subscriptions", type=_LIMIT, help="How many it may have.")
@click.option("--channels", type=_LIMIT, help="How many it may have.")
@click.option("--events-per-second", type=click.FloatRange(0), help="How fast each process takes its events.")
@click.option("--filter-cost", type=_LIMIT, help="What the filters of a subscription may cost on one event.")
@options.service
@options.data
@options.config_file
def set_(
    *,
    namespace: str,
    subscriptions: int | None,
    channels: int | None,
    events_per_second: float | None,
    filter_cost: int | None,
    url: str | None,
    data: str | None,
    config_file: Path | None,
) -> None:
    """Let a namespace have these quotas, and the defaults for those that are not given; 0 is no limit.

    \b
    Examples:
      headrace quotas set shop --subscriptions 1000 --events-per-second 500
      headrace quotas set shop                              only the defaults again
    """
    wanted = {
        "subscriptions": subscriptions,
        "channels": channels,
        "eventsPerSecond": events_per_second,
        "filterCost": filter_cost,
    }
    document = {name: value for name, value in wanted.items() if value is not None}
    if url is not None:
        asyncio.run(_ask_to_set(url, namespace, document))
    else:
        _set(load_config(config_file, {"data": data}), namespace, parse_overrides(document))
    click.echo(f"Namespace {namespace} has: {document or 'the defaults'}.")


def _look(config: Config) -> dict[str, Any]:
    with _opened(config) as store:
        own = {name: each.document() for name, each in store.all().items()}
    return {"defaults": config.quotas.document(), "namespaces": own}


def _set(config: Config, namespace: str, overrides: Overrides) -> None:
    with _opened(config) as store:
        store.database.bring_up(FAMILY)
        before = store.all().get(namespace, Overrides()).document()
        change = difference(before, overrides.document())
        entry = by_command("quotas set", "quotas", namespace, namespace, **change)
        store.set(namespace, overrides, lambda connection: audit.write(connection, [entry]))


@contextmanager
def _opened(config: Config) -> Iterator[QuotaStore]:
    with Database(config.store.url, config.store.patience_seconds) as database:
        Store(database)  # it has the revision that changes count by
        yield QuotaStore(database)


async def _ask(url: str) -> dict[str, Any]:
    async with options.connect(url) as client:
        return await client.all_quotas()


async def _ask_to_set(url: str, namespace: str, document: dict[str, Any]) -> None:
    async with options.connect(url) as client:
        await client.set_quotas(namespace, document)

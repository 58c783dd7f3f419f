"""`headrace keys`: API keys, made and revoked in the database itself, or by a service that is asked to."""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec

from headrace.auth.audit.entries import by_command
from headrace.auth.keys.key import new_key
from headrace.auth.keys.requests import parse_key_request
from headrace.auth.keys.store import KeyStore
from headrace.auth.roles import EVERYWHERE, Role
from headrace.cli import options
from headrace.cli.spans import SPAN
from headrace.cli.tables import print_table
from headrace.config import load_config
from headrace.database.database import Database
from headrace.subscriptions.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@click.group()
def keys() -> None:
    """Make, list and revoke API keys.

    Without --url these work on the database itself, where the service runs: so the first key is made. With --url they
    ask a service, with a key that has the role admin.
    """


@keys.command()
@click.option("--name", required=True, help="Whose key it is.")
@click.option(
    "--role",
    "roles",
    multiple=True,
    required=True,
    type=click.Choice([str(role) for role in Role]),
    help="What it may do; may be repeated.",
)
@click.option(
    "--namespace",
    "namespaces",
    multiple=True,
    required=True,
    help=f"Where; may be repeated. {EVERYWHERE} is everywhere.",
)
@click.option(
    "--expires", type=SPAN, metavar="90d", help="For how long it is good: 90d, 12h, 30m. Without: for ever."
)
@options.service
@options.data
@options.config_file
@options.as_json
def create(
    *,
    name: str,
    roles: tuple[str, ...],
    namespaces: tuple[str, ...],
    expires: float | None,
    url: str | None,
    data: str | None,
    config_file: Path | None,
    as_json: bool,
) -> None:
    """Make a key. It is shown this once, and not kept.

    \b
    Examples:
      headrace keys create --role admin --namespace '*' --name first
      headrace keys create --role publish --namespace shop --expires 90d --name ci
    """
    wanted: dict[str, Any] = {"name": name, "grants": {each: list(roles) for each in namespaces}}
    if expires is not None:
        wanted["expires"] = int((time.time() + expires) * 1000)
    if url is not None:
        made = asyncio.run(_ask_to_create(url, wanted))
    else:
        with _opened(data, config_file) as store:
            made = _create(store, wanted)
    if as_json:
        click.echo(msgspec.json.encode(made))
    else:
        click.echo(f"Key {made['id']} for {name}. Keep it well, it is not shown again:", err=True)
        click.echo(made["key"])


@keys.command(name="list")
@options.service
@options.data
@options.config_file
@options.as_json
def list_(url: str | None, data: str | None, config_file: Path | None, as_json: bool) -> None:
    """List the keys, those that are good no more included.

    \b
    Example:
      headrace keys list
    """
    if url is not None:
        found = asyncio.run(_ask_for_all(url))
    else:
        with _opened(data, config_file) as store:
            found = [each.document() for each in store.all()]
    if as_json:
        click.echo(msgspec.json.encode(found))
    else:
        headings = ["id", "name", "grants", "state", "last used"]
        print_table(headings, [_row(each) for each in found])


@keys.command()
@click.argument("key_id", metavar="ID")
@options.service
@options.data
@options.config_file
def revoke(key_id: str, url: str | None, data: str | None, config_file: Path | None) -> None:
    """Let a key be good no more. Every process knows within about a second.

    \b
    Example:
      headrace keys revoke 4Xb0Qp7sKd
    """
    if url is not None:
        asyncio.run(_ask_to_revoke(url, key_id))
    else:
        with _opened(data, config_file) as store:
            found = store.get(key_id)
            store.revoke(key_id, by_command("keys revoke", "key", key_id, found.only_namespace))
    click.echo(f"Key {key_id} is good no more.")


@keys.command()
def new() -> None:
    """Make a key for auth.admin_keys, which may do everything. It is kept nowhere.

    \b
    Example:
      headrace keys new
    """
    click.echo(new_key().text)


def _create(store: KeyStore, wanted: dict[str, Any]) -> dict[str, Any]:
    request = parse_key_request(wanted)
    entry = by_command("keys create", "key", "", None)
    key, record = request.make(entry.who, entry.time)
    store.add(record, by_command("keys create", "key", key.id, record.only_namespace))
    return record.document() | {"key": key.text}


@contextmanager
def _opened(data: str | None, config_file: Path | None) -> Iterator[KeyStore]:
    config = load_config(config_file, {"data": data})
    with Database(config.store.url, config.store.patience_seconds) as database:
        Store(database)  # keys count by its revision
        yield KeyStore(database)


async def _ask_to_create(url: str, wanted: dict[str, Any]) -> dict[str, Any]:
    async with options.connect(url) as client:
        return await client.create_key(**wanted)


async def _ask_for_all(url: str) -> list[dict[str, Any]]:
    async with options.connect(url) as client:
        return await client.keys()


async def _ask_to_revoke(url: str, key_id: str) -> None:
    async with options.connect(url) as client:
        await client.revoke_key(key_id)


def _row(key: dict[str, Any]) -> list[str]:
    grants = "; ".join(f"{namespace}: {', '.join(roles)}" for namespace, roles in key["grants"].items())
    state = (
        f"revoked {key['revoked']}"
        if "revoked" in key
        else f"until {key['expires']}"
        if "expires" in key
        else "good"
    )
    return [key["id"], key["name"], grants, state, key.get("lastUsed", "never")]

"""`headrace audit`: who changed what."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click
import msgspec

from headrace.auth.audit.entries import AuditQuery
from headrace.auth.audit.log import AuditLog
from headrace.cli import options
from headrace.cli.tables import print_table
from headrace.config import load_config
from headrace.database.database import Database

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config import Config


@click.command()
@click.option("--namespace", help="Of this namespace.")
@click.option("--who", help="By this one, as an entry says it: key:…")
@click.option("--kind", help="Of this kind: subscription, channel, key, quotas, …")
@click.option("--object", "object_", help="Of the thing with this id or name.")
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="So many at most."
)
@options.service
@options.data
@options.config_file
@options.as_json
def audit(
    *,
    namespace: str | None,
    who: str | None,
    kind: str | None,
    object_: str | None,
    limit: int,
    url: str | None,
    data: str | None,
    config_file: Path | None,
    as_json: bool,
) -> None:
    """List changes, the newest first: from the database itself, or with --url from a service.

    \b
    Examples:
      headrace audit --namespace shop
      headrace audit --kind key
    """
    which = {"who": who, "kind": kind, "object": object_, "limit": limit}
    if url is not None:
        found = asyncio.run(_ask(url, which | {"namespace": namespace}))
    else:
        query = AuditQuery(namespaces=None if namespace is None else (namespace,), **which)  # type: ignore[arg-type]
        found = _look(load_config(config_file, {"data": data}), query)
    if as_json:
        click.echo(msgspec.json.encode(found))
    else:
        print_table(["time", "who", "from", "action", "object", "namespace", "outcome"], map(_row, found))


def _look(config: Config, query: AuditQuery) -> list[dict[str, Any]]:
    with Database(config.store.url, config.store.patience_seconds) as database:
        return [each.document() for each in AuditLog(database).find(query)]


async def _ask(url: str, which: dict[str, Any]) -> list[dict[str, Any]]:
    async with options.connect(url) as client:
        return list((await client.changes(**which))["changes"])


def _row(entry: dict[str, Any]) -> list[str]:
    thing = f"{entry['kind']} {entry.get('object', '')}".rstrip()
    names = ("time", "who", "address", "action")
    return [
        *(entry[name] for name in names),
        thing,
        entry.get("namespace", ""),
        str(entry.get("outcome", "unknown")),
    ]

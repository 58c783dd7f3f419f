"""`headrace secrets`: the keys that credentials and signing keys are encrypted with."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
import msgspec

from headrace.cli import options
from headrace.cli.tables import print_table
from headrace.config import load_config
from headrace.database.database import Database
from headrace.secrets.keys import new_key, write_key
from headrace.secrets.rotation import rotate as rotate_keys
from headrace.service.storage.secrets import open_secret_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.subscriptions.store.secrets import SecretStore


@click.group()
def secrets() -> None:
    """Look at and change the keys that secrets are encrypted with.

    Run these where the service runs: they use its configuration and its database, and it may go on meanwhile.
    """


@secrets.command()
@options.data
@options.config_file
@options.as_json
def status(data: str | None, config_file: Path | None, as_json: bool) -> None:
    """Show which keys there are, and how many subscriptions have secrets that each of them opens.

    \b
    Example:
      headrace secrets status
    """
    with _opened(data, config_file) as secret_store:
        ring, counts = [key.id for key in secret_store.keys.ring()], secret_store.count_by_key()
        where = secret_store.keys.where
    found = [
        {"key": key, "state": _state(key, ring), "subscriptions": counts.get(key, 0)}
        for key in [*ring, *sorted(counts.keys() - set(ring))]
    ]
    if as_json:
        click.echo(msgspec.json.encode({"keys": found, "from": where}))
    else:
        click.echo(f"keys from {where}")
        print_table(
            ["key", "state", "subscriptions"], [[str(each) for each in row.values()] for row in found]
        )


@secrets.command()
@click.option(
    "--drop-old", is_flag=True, help="Remove the old keys; older backups can't be opened without them."
)
@options.data
@options.config_file
@options.as_json
def rotate(drop_old: bool, data: str | None, config_file: Path | None, as_json: bool) -> None:
    """Make a new key and encrypt all secrets with it. Keys given by store.secrets_keys are used as they are.

    \b
    Examples:
      headrace secrets rotate
      headrace secrets rotate --drop-old
    """
    with _opened(data, config_file) as secret_store:
        done = rotate_keys(secret_store, drop_old=drop_old)
    if as_json:
        click.echo(msgspec.json.encode(done))
        return
    click.echo(f"{done.resealed} sealed anew; the key in force is {done.key}")
    if done.dropped:
        click.echo(f"dropped: {', '.join(done.dropped)}")
    for subscription in done.locked:
        click.echo(f"can't be opened: the secrets of subscription {subscription}")


@secrets.command("new-key")
def new_key_() -> None:
    """Print a new key, for store.secrets_keys.

    \b
    Example:
      headrace secrets new-key
    """
    click.echo(write_key(new_key()))


@contextmanager
def _opened(data: str | None, config_file: Path | None) -> Iterator[SecretStore]:
    settings = load_config(config_file, {"data": data}).store
    with Database(settings.url, settings.patience_seconds) as database:
        yield open_secret_store(settings, database)


def _state(key: str, ring: list[str]) -> str:
    if key not in ring:
        return "missing"
    return "in force" if key == ring[0] else "old"

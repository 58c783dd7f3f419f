"""Knative's objects on the command line: tables for people, YAML and JSON for programs."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from headrace.cli.tables import print_table
from headrace.controlplane.kinds import KINDS, names_of
from headrace.controlplane.manifest_text import write_manifests

NAMES = tuple(name for kind in KINDS for name in names_of(kind))
"""All names under which kinds of objects may be asked for."""


def show_objects(found: list[dict[str, Any]], output: str, *, is_one: bool) -> None:
    """Print objects: `table`, `yaml` or `json`."""
    if output == "yaml":
        click.echo(write_manifests(found), nl=False)
    elif output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found[0] if is_one else found), indent=2))
    else:
        _print_table(found)


def _print_table(found: list[dict[str, Any]]) -> None:
    rows = []
    for each in found:
        status, metadata = each["status"], each["metadata"]
        ready = next(condition for condition in status["conditions"] if condition["type"] == "Ready")
        where = status.get("address", {}).get("url") or _sink(status)
        rows.append(
            [
                metadata["namespace"],
                metadata["name"],
                where,
                ready["status"],
                ready.get("reason", ""),
                ready.get("message", ""),
            ]
        )
    headings = ["namespace", "name", "url", "ready", "reason", "message"]
    width = len(headings) if any(row[4] for row in rows) else 4
    print_table(headings[:width], [row[:width] for row in rows])


def _sink(status: dict[str, Any]) -> str:
    physical = status.get("physicalSubscription", status)
    return str(physical.get("subscriberUri") or physical.get("replyUri") or "")

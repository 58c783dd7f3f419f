"""`headrace get`: show what there is."""

from __future__ import annotations

import asyncio
from typing import Any

import click
import msgspec

from headrace.cli import options
from headrace.cli.objects import NAMES, show_objects
from headrace.cli.tables import print_table
from headrace.client import Client
from headrace.controlplane.kinds import kind_called
from headrace.controlplane.manifest import DEFAULT_NAMESPACE

_LISTS = ("subscriptions", "channels", "jobs", "set-aside")


@click.command()
@click.argument("kind", metavar="KIND", type=click.Choice([*_LISTS, *NAMES]))
@click.argument("id_", metavar="[ID|NAME]", required=False)
@click.option(
    "-n", "--namespace", help="The namespace of Knative's objects. Without it, all, or default for a name."
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "yaml", "json"]),
    default="table",
    help="How objects are shown.",
)
@options.url
@options.as_json
def get(kind: str, id_: str | None, namespace: str | None, output: str, url: str, as_json: bool) -> None:
    """List subscriptions, channels, jobs or what could not be routed; show one subscription or job by its id.

    Knative's objects are triggers, brokers, headracechannels, inmemorychannels, ch (Channel) and sub (Subscription).

    \b
    Examples:
      headrace get subscriptions
      headrace get channels --json
      headrace get jobs
      headrace get set-aside
      headrace get triggers -n shop
      headrace get trigger orders -o yaml
    """
    if kind in NAMES:
        found = asyncio.run(_fetch_objects(kind, id_, namespace, url))
        show_objects(found, "json" if as_json else output, is_one=id_ is not None)
        return
    if namespace is not None or output != "table":
        raise click.UsageError("-n and -o go with Knative's objects only")
    if id_ is not None and kind not in ("subscriptions", "jobs"):
        raise click.UsageError("an id goes with subscriptions and jobs only")
    found = asyncio.run(_fetch(kind, id_, url))
    if as_json or id_ is not None:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2))
    elif kind == "channels":
        print_table(
            ["namespace", "name", "url"], [[each["namespace"], each["name"], each["url"]] for each in found]
        )
    elif kind == "set-aside":
        _print_set_aside(found)
    elif kind == "jobs":
        _print_jobs(found)
    else:
        _print_subscriptions(found)


async def _fetch_objects(
    kind: str, name: str | None, namespace: str | None, url: str
) -> list[dict[str, Any]]:
    plural = kind_called(kind).plural
    async with Client(url) as client:
        if name is None:
            return await client.objects(plural, namespace)
        return [await client.object(plural, namespace or DEFAULT_NAMESPACE, name)]


async def _fetch(kind: str, id_: str | None, url: str) -> Any:
    async with Client(url) as client:
        if id_ is not None:
            return await (client.job(id_) if kind == "jobs" else client.subscription(id_))
        lists = {
            "channels": client.channels,
            "jobs": client.jobs,
            "set-aside": client.set_aside,
            "subscriptions": client.subscriptions,
        }
        return await lists[kind]()


def _print_jobs(found: list[dict[str, Any]]) -> None:
    rows = [
        [
            each["id"],
            each["kind"],
            each.get("subscription", ""),
            each["state"],
            f"{each['progress']:.0%}",
            each.get("error") or each.get("note", ""),
        ]
        for each in found
    ]
    print_table(["id", "kind", "subscription", "state", "progress", "note"], rows)


def _print_set_aside(found: list[dict[str, Any]]) -> None:
    print_table(
        ["time", "what", "positions", "channel", "subscription", "reason"],
        [
            [
                each["time"],
                each["kind"],
                _positions(each),
                f"{each['namespace']}/{each['channel']}" if "channel" in each else "",
                each.get("subscription", ""),
                each["reason"],
            ]
            for each in found
        ],
    )


def _positions(aside: dict[str, Any]) -> str:
    if aside["kind"] == "filter":
        return ""
    first, last = aside["position"], aside["until"] - 1
    return str(first) if first == last else f"{first} to {last}"


def _print_subscriptions(found: list[dict[str, Any]]) -> None:
    """Print them; the last column is there only when there is something to tell."""
    rows = [
        [each["id"], each["config"]["channel"], each["sink"], _filters(each), _status(each)] for each in found
    ]
    headings = ["id", "channel", "sink", "filters", "status"]
    width = len(headings) if any(row[-1] for row in rows) else len(headings) - 1
    print_table(headings[:width], [row[:width] for row in rows])


def _status(subscription: dict[str, Any]) -> str:
    status = subscription.get("status", {}).get("filter")
    if not status:
        return ""
    times = status["overruns"]
    often = "once," if times == 1 else f"{times} times, last"
    return f"filter cost too much {often} at position {status['position']}: {status['reason']}"


def _filters(subscription: dict[str, Any]) -> str:
    return msgspec.json.encode(subscription["filters"]).decode() if subscription["filters"] else "all events"

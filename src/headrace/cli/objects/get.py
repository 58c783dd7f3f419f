"""`headrace get`: show what there is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click
import msgspec

from headrace.cli import options
from headrace.cli.objects.objects import NAMES, show_objects
from headrace.cli.objects.subscription_lists import list_subscriptions, subscription_options
from headrace.cli.tables import print_table
from headrace.client.defaults import DEFAULT_CHANNEL
from headrace.controlplane.kinds import kind_called
from headrace.controlplane.manifest import DEFAULT_NAMESPACE
from headrace.subscriptions.channels.name import parse_channel

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_LISTS = ("subscriptions", "channels", "interest", "jobs", "redrives", "dead-letters", "set-aside")
_MOST_DEAD = 1000


@click.command()
@click.argument("kind", metavar="KIND", type=click.Choice([*_LISTS, *NAMES]))
@click.argument("id_", metavar="[ID|NAME]", required=False)
@click.option(
    "-n",
    "--namespace",
    help="The namespace of Knative's objects or of subscriptions. Without it, all, or default for a name.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "yaml", "json"]),
    default="table",
    help="How objects are shown.",
)
@subscription_options
@options.url
@options.as_json
def get(
    *,
    kind: str,
    id_: str | None,
    namespace: str | None,
    output: str,
    limit: int | None,
    url: str,
    as_json: bool,
    **which: str | None,
) -> None:
    """List what there is; show one subscription, job or redrive by its id.

    --channel, --sink, --protocol, --state and -n choose subscriptions; a table has 1000 unless --limit says more.

    The interest of a channel, default/default or the one named, is what its subscriptions want, as one CEL expression.

    Dead letters are deliveries that were given up; what could not be routed was set aside.

    Knative's objects are triggers, brokers, headracechannels, inmemorychannels, ch (Channel) and sub (Subscription).

    \b
    Examples:
      headrace get subscriptions
      headrace get subscriptions --channel shop/orders --state paused
      headrace get channels --json
      headrace get interest default/default
      headrace get jobs
      headrace get dead-letters
      headrace get set-aside
      headrace get triggers -n shop
      headrace get trigger orders -o yaml
    """
    if (limit is not None or any(which.values())) and (kind != "subscriptions" or id_ is not None):
        raise click.UsageError(
            "--channel, --sink, --protocol, --state and --limit go with lists of subscriptions"
        )
    if kind in NAMES:
        found = asyncio.run(_fetch_objects(kind, id_, namespace, url))
        show_objects(found, "json" if as_json else output, is_one=id_ is not None)
        return
    if kind == "subscriptions" and id_ is None and output == "table":
        asyncio.run(list_subscriptions({**which, "namespace": namespace}, limit, url, as_json=as_json))
        return
    if namespace is not None or output != "table":
        raise click.UsageError(
            "-n goes with Knative's objects and subscriptions, -o with Knative's objects only"
        )
    if kind == "interest":
        _show_interest(asyncio.run(_fetch_interest(id_ or DEFAULT_CHANNEL, url)), as_json=as_json)
        return
    if id_ is not None and kind not in ("subscriptions", "jobs", "redrives"):
        raise click.UsageError("an id goes with subscriptions, jobs and redrives only")
    found = asyncio.run(_fetch(kind, id_, url))
    if as_json or id_ is not None:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2))
    else:
        _PRINTERS[kind](found)


async def _fetch_objects(
    kind: str, name: str | None, namespace: str | None, url: str
) -> list[dict[str, Any]]:
    plural = kind_called(kind).plural
    async with options.connect(url) as client:
        if name is None:
            return await client.objects(plural, namespace)
        return [await client.object(plural, namespace or DEFAULT_NAMESPACE, name)]


async def _fetch_interest(channel: str, url: str) -> dict[str, Any]:
    parse_channel(channel)
    async with options.connect(url) as client:
        return await client.interest(channel)


def _show_interest(interest: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(interest), indent=2))
        return
    count, revision, seconds = interest["subscriptions"], interest["revision"], interest["maxAge"]
    events = "the events" if interest["exact"] else "at least the events"
    click.echo(interest["cel"])
    channel, many = interest["channel"], "" if count == 1 else "s"
    who = f"{count} subscription{many} of {channel} want{'s' if count == 1 else ''}"
    click.echo(
        f"These are {events} that the {who} at revision {revision}. "
        f"A publisher may rely on it for {seconds:g} s.",
        err=True,
    )


async def _fetch(kind: str, id_: str | None, url: str) -> Any:
    async with options.connect(url) as client:
        if id_ is not None:
            if kind == "subscriptions":
                return await client.subscription(id_)
            return await (client.job(id_) if kind == "jobs" else client.find_redrive(id_))
        if kind == "dead-letters":
            return (await client.dead_letters(limit=_MOST_DEAD))["deadLetters"]
        lists: dict[str, Callable[[], Awaitable[Any]]] = {
            "channels": client.channels,
            "jobs": client.jobs,
            "redrives": client.redrives,
            "set-aside": client.set_aside,
        }
        return await lists[kind]()


def _print_channels(found: list[dict[str, Any]]) -> None:
    """Print them; the last column is there only when a channel has a delivery object."""
    rows = [[each["namespace"], each["name"], each["url"], _delivery(each)] for each in found]
    headings = ["namespace", "name", "url", "delivery"]
    width = len(headings) if any(row[-1] for row in rows) else len(headings) - 1
    print_table(headings[:width], [row[:width] for row in rows])


def _delivery(channel: dict[str, Any]) -> str:
    return msgspec.json.encode(channel["delivery"]).decode() if "delivery" in channel else ""


def _print_dead_letters(found: list[dict[str, Any]]) -> None:
    rows = [
        [
            each["time"],
            each["subscription"],
            str(each["position"]),
            each["stage"],
            str(each["attempts"]),
            each.get("event", {}).get("type", ""),
            each.get("event", {}).get("id", ""),
            each["reason"],
        ]
        for each in found
    ]
    print_table(["time", "subscription", "position", "stage", "tries", "type", "id", "reason"], rows)


def _print_redrives(found: list[dict[str, Any]]) -> None:
    rows = [
        [
            each["id"],
            each["asked"],
            each["state"],
            f"{each['moved']} of {each['found']}",
            msgspec.json.encode(each["request"]).decode(),
            each.get("error", ""),
        ]
        for each in found
    ]
    print_table(["id", "asked", "state", "moved", "request", "error"], rows)


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


_PRINTERS = {
    "channels": _print_channels,
    "dead-letters": _print_dead_letters,
    "jobs": _print_jobs,
    "redrives": _print_redrives,
    "set-aside": _print_set_aside,
}

"""`headrace get`: show what there is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click
import msgspec

from headrace.cli import options
from headrace.cli.tables import print_table
from headrace.client import Client

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_MOST_DEAD = 1000


@click.command()
@click.argument(
    "kind",
    type=click.Choice(["subscriptions", "channels", "jobs", "redrives", "dead-letters", "set-aside"]),
)
@click.argument("id_", metavar="[ID]", required=False)
@options.url
@options.as_json
def get(kind: str, id_: str | None, url: str, as_json: bool) -> None:
    """List what there is; show one subscription, job or redrive by its id.

    Dead letters are deliveries that were given up; what could not be routed was set aside.

    \b
    Examples:
      headrace get subscriptions
      headrace get channels --json
      headrace get jobs
      headrace get dead-letters
      headrace get set-aside
    """
    if id_ is not None and kind not in ("subscriptions", "jobs", "redrives"):
        raise click.UsageError("an id goes with subscriptions, jobs and redrives only")
    found = asyncio.run(_fetch(kind, id_, url))
    if as_json or id_ is not None:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2))
    else:
        _PRINTERS[kind](found)


async def _fetch(kind: str, id_: str | None, url: str) -> Any:
    async with Client(url) as client:
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
            "subscriptions": client.subscriptions,
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


def _print_subscriptions(found: list[dict[str, Any]]) -> None:
    """Print them; the last column is there only when there is something to tell."""
    rows = [
        [each["id"], each["config"]["channel"], each["sink"], _filters(each), _status(each)] for each in found
    ]
    headings = ["id", "channel", "sink", "filters", "status"]
    width = len(headings) if any(row[-1] for row in rows) else len(headings) - 1
    print_table(headings[:width], [row[:width] for row in rows])


def _status(subscription: dict[str, Any]) -> str:
    status = subscription.get("status", {})
    told = [_delivery_status(status["delivery"])] if "delivery" in status else []
    if "filter" in status:
        told.append(_filter_status(status["filter"]))
    return "; ".join(each for each in told if each)


def _filter_status(status: dict[str, Any]) -> str:
    times = status["overruns"]
    often = "once," if times == 1 else f"{times} times, last"
    return f"filter cost too much {often} at position {status['position']}: {status['reason']}"


def _delivery_status(status: dict[str, Any]) -> str:
    """Say what is out of the ordinary, the state first."""
    told = []
    if status["state"] != "active":
        told.append(f"{status['state']}: {status['reason']}" if "reason" in status else status["state"])
    if status.get("breaker", {}).get("state", "closed") != "closed":
        until = f" until {status['breaker']['until']}" if "until" in status["breaker"] else ""
        told.append(f"its sink is left alone{until}")
    told += [f"{status[name]} {name}" for name in ("waiting", "dead") if status.get(name)]
    error = status.get("lastError")
    if error and error["time"] > status.get("lastSuccess", ""):
        told.append(f"last error {error['time']}: {error['reason']}")
    return ", ".join(told)


def _filters(subscription: dict[str, Any]) -> str:
    return msgspec.json.encode(subscription["filters"]).decode() if subscription["filters"] else "all events"


_PRINTERS = {
    "channels": _print_channels,
    "dead-letters": _print_dead_letters,
    "jobs": _print_jobs,
    "redrives": _print_redrives,
    "set-aside": _print_set_aside,
    "subscriptions": _print_subscriptions,
}

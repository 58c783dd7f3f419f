"""Lists of subscriptions on the command line: there may be very many, so they are asked for page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from headrace.cli import options
from headrace.cli.tables import print_table
from headrace.protocols import PROTOCOLS
from headrace.subscriptions.subscription import STATES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

_Command = TypeVar("_Command", bound="Callable[..., Any]")
_PAGE = 1000
_OPTIONS = (
    click.option("--channel", metavar="NAMESPACE/NAME", help="Subscriptions of this channel."),
    click.option("--sink", help="Subscriptions with exactly this sink."),
    click.option("--protocol", type=click.Choice(list(PROTOCOLS)), help="Subscriptions over this protocol."),
    click.option("--state", type=click.Choice(STATES), help="Subscriptions in this state."),
    click.option("--limit", type=click.IntRange(min=1), help="At most so many subscriptions."),
)


def subscription_options(command: _Command) -> _Command:
    """Give a command the options that choose subscriptions."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


async def list_subscriptions(
    which: Mapping[str, str | None], limit: int | None, url: str, *, as_json: bool
) -> None:
    """Print those that are asked for: as JSON all, and as they come; as a table at most a page, unless told."""
    async with options.connect(url) as client:
        page = _PAGE if limit is None else min(limit, _PAGE)
        found = client.each_subscription(page, **which)
        if as_json:
            await _write_json(found, limit)
            return
        most = limit or _PAGE
        shown: list[dict[str, Any]] = []
        async for each in found:
            if len(shown) == most:
                click.echo(f"there are more than these {most}; --limit shows more", err=True)
                break
            shown.append(each)
        _print_table(shown)


async def _write_json(found: AsyncIterator[dict[str, Any]], limit: int | None) -> None:
    """Write an array, one subscription after the other."""
    count = 0
    async for each in found:
        if count == limit:
            break
        text = msgspec.json.format(msgspec.json.encode(each), indent=2).decode()
        click.echo(("[\n" if count == 0 else ",\n") + text, nl=False)
        count += 1
    click.echo("\n]" if count else "[]")


def _print_table(found: Sequence[dict[str, Any]]) -> None:
    """Print them; the last column is there only when there is something to tell."""
    rows = [
        [each["id"], each["config"]["channel"], each.get("sink", "pulled"), _filters(each), _status(each)]
        for each in found
    ]
    headings = ["id", "channel", "sink", "filters", "status"]
    width = len(headings) if any(row[-1] for row in rows) else len(headings) - 1
    print_table(headings[:width], [row[:width] for row in rows])


def _status(subscription: dict[str, Any]) -> str:
    status = subscription["status"]
    told = [_readiness(status["ready"]), _delivery_status(status["delivery"])]
    if "filter" in status:
        told.append(_filter_status(status["filter"]))
    return "; ".join(each for each in told if each)


def _readiness(ready: dict[str, Any]) -> str:
    """Say why it gets no events, where the state of its deliveries doesn't tell."""
    if ready["status"] or ready["reason"] in ("Paused", "SinkGone", "SinkFailing"):
        return ""
    return f"not ready: {ready['message']}"


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
    """Say which events it wants."""
    wanted = {name: subscription[name] for name in ("source", "types", "filters") if subscription.get(name)}
    if wanted.keys() <= {"filters"}:
        wanted = wanted.get("filters", {})
    return msgspec.json.encode(wanted).decode() if wanted else "all events"

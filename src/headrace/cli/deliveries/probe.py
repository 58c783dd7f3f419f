"""`headrace test-send`: try a subscription's sink."""

from __future__ import annotations

import asyncio
from typing import Any

import click
import msgspec

from headrace.cli import options
from headrace.errors import InvalidEvent
from headrace.events.json_format import decode
from headrace.telemetry.texts import one_line


@click.command("test-send")
@click.argument("subscription_id")
@click.option("--event", "text", metavar="JSON", help="The event to send, as JSON; without it, a sample.")
@options.url
@options.as_json
def test_send(subscription_id: str, text: str | None, url: str, as_json: bool) -> None:
    """Send one event to a subscription's sink now, as a delivery would go, and tell what it answered.

    It ends with 1 where the sink didn't take the event.

    \b
    Examples:
      headrace test-send 7f0c1f5e-0000-4000-8000-000000000000
      headrace test-send 7f0c1f5e-0000-4000-8000-000000000000 --json --event \\
        '{"specversion": "1.0", "id": "1", "source": "/me", "type": "com.example.order", "data": {"amount": 7}}'
    """
    told = asyncio.run(_send(subscription_id, text, url))
    if as_json:
        click.echo(msgspec.json.encode(told))
    else:
        _print(told)
    if told["verdict"] != "done":
        raise SystemExit(1)


async def _send(subscription_id: str, text: str | None, url: str) -> dict[str, Any]:
    try:
        event = None if text is None else decode(text.encode())
    except InvalidEvent as error:
        raise click.BadParameter(str(error), param_hint="--event") from None
    async with options.connect(url, timeout_seconds=90.0) as client:
        return await client.test_send(subscription_id, event)


def _print(told: dict[str, Any]) -> None:
    status = f"status {told['status']}, " if "status" in told else ""
    click.echo(f"{told['verdict']}: {status}{told['seconds'] * 1000:.1f} ms, {told['sink']}")
    for text in (told.get("reason"), told.get("body")):
        if text:
            click.echo(one_line(text))

"""`headrace publish`: send events to a channel."""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from headrace.cli import options
from headrace.errors import InvalidEvent
from headrace.events.attributes import faults
from headrace.events.event import Event
from headrace.events.json_format import decode

if TYPE_CHECKING:
    from headrace.client import Publisher
    from headrace.client.interest import InterestKind

_BATCH = 200


@click.command()
@click.option("--type", "type_", help="The event's type.")
@click.option("--source", default="/headrace/cli", show_default=True, help="The event's source.")
@click.option("--id", "id_", help="The event's id; a random one by default.")
@click.option("--subject", help="The event's subject.")
@click.option("--attribute", "-a", multiple=True, metavar="NAME=VALUE", help="An extension attribute.")
@click.option("--data", "data_", help="The event's data.")
@click.option(
    "--datacontenttype", default="application/json", show_default=True, help="The media type of --data."
)
@click.option(
    "--file", "-f", type=click.File("rb"), help="Events as JSON, one per line; - is standard input."
)
@click.option(
    "--if-wanted",
    type=click.Choice(["cel", "bloom"]),
    is_flag=False,
    flag_value="cel",
    help="Send only what a subscription wants, judged here: by the channel's CEL expression, or its Bloom filter.",
)
@options.channel
@options.url
def publish(
    *,
    type_: str | None,
    source: str,
    id_: str | None,
    subject: str | None,
    attribute: tuple[str, ...],
    data_: str | None,
    datacontenttype: str,
    file: IO[bytes] | None,
    if_wanted: InterestKind | None,
    channel: str,
    url: str,
) -> None:
    """Send one event, or a file of events. They are durable when the command returns.

    With --if-wanted events that no subscription wants when they are to be sent stay here: they are in no history.

    \b
    Examples:
      headrace publish --type com.example.order --data '{"amount": 7}'
      headrace publish --file events.jsonl --channel default/default
      headrace publish --file events.jsonl --if-wanted
      headrace publish --file events.jsonl --if-wanted=bloom
    """
    if (file is None) == (type_ is None):
        raise click.UsageError("give either --type, for one event, or --file, for many")
    if file is not None:
        events = [_decode_line(number, line) for number, line in enumerate(file, start=1) if line.strip()]
    else:
        attributes = {
            "specversion": "1.0",
            "id": id_ or str(uuid.uuid4()),
            "source": source,
            "type": type_ or "",
            "time": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            **({"subject": subject} if subject is not None else {}),
            **({"datacontenttype": datacontenttype} if data_ is not None else {}),
            **_pairs(attribute),
        }
        if found := faults(attributes):
            raise InvalidEvent(found)
        events = [Event(attributes, None if data_ is None else data_.encode())]
    asyncio.run(_send(events, channel, if_wanted, url))


def _decode_line(number: int, line: bytes) -> Event:
    try:
        return decode(line)
    except InvalidEvent as error:
        raise InvalidEvent([f"line {number}: {fault}" for fault in error.faults]) from None


def _pairs(texts: tuple[str, ...]) -> dict[str, str]:
    split = [text.partition("=") for text in texts]
    for name, sign, _ in split:
        if not sign:
            raise click.BadParameter(f"{name!r} is not of the form NAME=VALUE", param_hint="--attribute")
    return {name: value for name, _, value in split}


async def _send(events: list[Event], channel: str, if_wanted: InterestKind | None, url: str) -> None:
    async with options.connect(url) as client, client.publisher(channel, interest=if_wanted) as publisher:
        if len(events) == 1:
            await publisher.publish(events[0])
        else:
            await _send_many(publisher, events)
        click.echo(f"accepted {_counted(publisher.sent)} on {channel}{_not_sent(publisher, if_wanted)}")


def _counted(number: int) -> str:
    return f"{number} event{'s' if number != 1 else ''}"


def _not_sent(publisher: Publisher, if_wanted: InterestKind | None) -> str:
    if if_wanted is not None and not publisher.is_informed:
        return "; what is wanted could not be found out, so everything was sent"
    return f"; {_counted(publisher.dropped)} that nobody wants stayed here" if publisher.dropped else ""


async def _send_many(publisher: Publisher, events: list[Event]) -> None:
    """Send batches of one specversion each, in order, with progress."""
    columns = (TextColumn("publishing"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=len(events))
        start = 0
        while start < len(events):
            end = start
            while (
                end < min(start + _BATCH, len(events))
                and events[end].specversion == events[start].specversion
            ):
                end += 1
            await publisher.publish_batch(events[start:end])
            progress.update(task, completed=end)
            start = end

"""`headrace filter`: what a filter means, and what it says about events. No service is asked."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from headrace.cli import options
from headrace.cli.filters.arguments import PATH, compiled, takes_filter
from headrace.cli.history.backtest import backtest
from headrace.cli.tables import print_table
from headrace.errors import FilterError, InvalidEvent
from headrace.events.json_format import decode

if TYPE_CHECKING:
    from headrace.events.event import Event
    from headrace.filters import Filter


class _Refused(click.ClickException):
    """A filter or an event that can't be read; 1 is taken by "no event matched"."""

    exit_code = 2


class _Commands(click.Group):
    """Ends with status 2 where the filter or an event is refused."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except (FilterError, InvalidEvent) as error:
            raise _Refused(str(error)) from error


class _Line(NamedTuple):
    """An event and the line it stood on."""

    number: int
    event: Event

    def document(self) -> dict[str, Any]:
        return {
            "line": self.number,
            "id": self.event.id,
            "source": self.event.source,
            "type": self.event.type,
        }


@click.group("filter", cls=_Commands)
def filter_() -> None:
    """Try a filter: what it means, and which events it wants. Works without a service.

    The filter is given in one of four ways: as JSON (--filter), as a file of JSON (-f), as CEL (--cel) or as
    CloudEvents SQL (--sql). A JSON array is a list of filters that must all hold.

    Exit status: 2 where the filter or an event can't be read.
    """


filter_.add_command(backtest)


_takes_events = click.option(
    "--events",
    type=PATH,
    default="-",
    show_default=True,
    help="A file of events as JSON, one per line; - is standard input.",
)


@filter_.command("cel")
@takes_filter
@options.as_json
def print_cel(as_json: bool, **given: str | None) -> None:
    """Print the filter as CEL: the text that defines what it means.

    \b
    Examples:
      headrace filter cel --filter '{"prefix": {"type": "com.example."}}'
      headrace filter cel -f filter.json
    """
    wanted = compiled(**given)
    click.echo(msgspec.json.encode({"cel": wanted.cel, "notes": wanted.notes}) if as_json else wanted.cel)


@filter_.command("explain")
@takes_filter
@_takes_events
@options.as_json
def explain(events: str, as_json: bool, **given: str | None) -> None:
    """Print, for each event, every clause of the filter with its value and the reason.

    \b
    Examples:
      headrace filter explain --cel 'data.amount > 5' --events events.jsonl
      headrace filter explain -f filter.json --json < events.jsonl
    """
    wanted, lines = _read(events, given)
    explained = [(line, wanted.explain(line.event)) for line in lines]
    if as_json:
        click.echo(
            msgspec.json.encode(
                [line.document() | {"explanation": each.document()} for line, each in explained]
            )
        )
        return
    for line, each in explained:
        click.echo(f"line {line.number}: event {line.event.id} of {line.event.source}\n{each}")


@filter_.command("test")
@takes_filter
@_takes_events
@options.as_json
def test(events: str, as_json: bool, **given: str | None) -> None:
    """Print, for each event, whether the filter wants it, and how many it wants.

    Exit status: 0 where at least one event matched, 1 where none did.

    \b
    Examples:
      headrace filter test --cel 'data.amount > 5' --events events.jsonl
      headrace filter test --sql "type LIKE 'com.%'" < events.jsonl
    """
    wanted, lines = _read(events, given)
    answers = [(line, wanted.matches(line.event)) for line in lines]
    matched = sum(matches for _, matches in answers)
    if as_json:
        shown = [line.document() | {"matches": matches} for line, matches in answers]
        click.echo(msgspec.json.encode({"events": shown, "matched": matched, "notes": wanted.notes}))
    else:
        _print_answers(answers)
        click.echo(f"{matched} of {len(answers)} events matched")
    sys.exit(0 if matched else 1)


def _print_answers(answers: list[tuple[_Line, bool]]) -> None:
    rows = [["yes" if matches else "no", *map(str, line.document().values())] for line, matches in answers]
    if rows:
        print_table(["matches", "line", "id", "source", "type"], rows)


def _read(events: str, given: dict[str, str | None]) -> tuple[Filter, list[_Line]]:
    """Read the filter and all events before anything is printed."""
    if events == "-" == given["file"]:
        raise click.UsageError("the filter and the events can't both be standard input; give --events")
    wanted = compiled(**given)
    with click.open_file(events, "rb") as file:
        return wanted, [_event(number, line) for number, line in enumerate(file, start=1) if line.strip()]


def _event(number: int, line: bytes) -> _Line:
    try:
        return _Line(number, decode(line))
    except InvalidEvent as error:
        raise InvalidEvent([f"line {number}: {fault}" for fault in error.faults]) from None

"""A filter on the command line, in one of four ways: JSON, a file of JSON, CEL or CloudEvents SQL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click
import msgspec

from headrace.errors import FilterError
from headrace.filters import Filter, compile_filter

if TYPE_CHECKING:
    from collections.abc import Callable

_BYTE = re.compile(r" \(byte (\d+)\)\Z")
PATH = click.Path(exists=True, dir_okay=False, allow_dash=True)


def takes_filter(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a filter."""
    for option in (
        click.option("--sql", metavar="TEXT", help="The filter, in CloudEvents SQL."),
        click.option("--cel", metavar="TEXT", help="The filter, in CEL."),
        click.option("--file", "-f", type=PATH, help="A file with the filter as JSON; - is standard input."),
        click.option("--filter", "json_text", metavar="JSON", help="The filter, as JSON."),
    ):
        command = option(command)
    return command


def compiled(**given: str | None) -> Filter:
    """Compile the filter that the options give, with its notes on standard error."""
    wanted = compile_filter(written(**given))
    for note in wanted.notes:
        click.echo(f"Note: {note}", err=True)
    return wanted


def written(*, json_text: str | None, file: str | None, cel: str | None, sql: str | None) -> Any:
    """Return the filter that the options give, as an object or a list of them."""
    if sum(each is not None for each in (json_text, file, cel, sql)) != 1:
        raise click.UsageError("give the filter in one way: --filter, --file, --cel or --sql")
    if cel is not None:
        return {"cel": cel}
    if sql is not None:
        return {"sql": sql}
    return _json(_file_text(file) if file is not None else json_text or "")


def optional_filter(**given: str | None) -> Any:
    """Return the filter that the options give, if they give one; it is compiled here to refuse it with a caret."""
    if all(each is None for each in given.values()):
        return None
    document = written(**given)
    compile_filter(document)
    return document


def _file_text(path: str) -> str:
    with click.open_file(path, "rb") as file:
        content: bytes = file.read()
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise FilterError(
            f"the file is not UTF-8: {error.reason} at byte {error.start}", path="filter"
        ) from None


def _json(text: str) -> Any:
    document = text.encode(errors="replace")
    try:
        return msgspec.json.decode(document)
    except msgspec.DecodeError as error:
        raise _malformed(str(error), text, document) from None
    except RecursionError:
        raise FilterError("the JSON nests too deep", path="filter", limit="depth") from None


def _malformed(problem: str, text: str, document: bytes) -> FilterError:
    found = _BYTE.search(problem)
    before = document if found is None else document[: int(found[1])]
    position = len(before.decode(errors="ignore"))
    return FilterError(_BYTE.sub("", problem), path="filter", source=text, position=position)

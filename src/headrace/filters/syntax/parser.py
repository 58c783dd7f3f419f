"""Parse and check CEL with Google's parser, and turn its reports into errors that point into the text.

Parsing doesn't expand macros. The checker knows the variables of a filter. They are declared in a container, since one
of them is `type`, and a variable may not have the name of the function `type`.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from headrace.errors import FilterError
from headrace.filters.syntax import google
from headrace.filters.syntax.parser_process import ParserProcess, Request
from headrace.filters.syntax.trees import Syntax, read_positions, read_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.filters.dialects.dialect import ParseContext

_FAULT = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_EXPECTED = re.compile(r" expecting \{.*\}")
_IN_CONTAINER = re.compile(r" \(in container '[^']*'\)")
_TOO_DEEP = re.compile(r"recursion (?:depth|limit)")
_SHORT = 2000
"""Any text of so many characters is parsed within about ten milliseconds."""
_processes: list[ParserProcess] = []


@dataclass(frozen=True, slots=True)
class Parsed:
    """A valid CEL expression, which need not be a filter."""

    source: str
    tree: Syntax
    serialized: bytes
    context: ParseContext

    def fault(self, problem: str, node: Syntax, *, limit: str | None = None) -> FilterError:
        """Return an error that points to the node."""
        position = read_positions(self.serialized).get(node.id, 0)
        return _error(problem, self.source, position, self.context, limit=limit)


def parse(source: str, context: ParseContext) -> Parsed:
    """Parse a text, or raise `FilterError` pointing to the fault."""
    if "\0" in source:
        raise _error("U+0000 is not allowed in an expression", source, source.index("\0"), context)
    answer = _parse(source)
    if answer.report:
        _refuse(answer.report, source, context)
    return Parsed(source, read_tree(answer.result), answer.result, context)


def check(source: str, context: ParseContext) -> None:
    """Refuse undeclared names, operations that the types don't have, and expressions that aren't boolean."""
    process = _process_for(source)
    answer = process.ask(Request("check", source)) if process else google.check(source)
    if answer.report:
        _refuse(answer.report, source, context)
    if answer.result:
        raise _error(f"a filter must be a bool, not {answer.result.decode()}", source, 0, context)


def is_readable(source: str) -> bool:
    """Return whether the parser accepts the text: it refuses those that are nested too deep."""
    return not _parse(source).report


@contextmanager
def parsing_elsewhere() -> Iterator[None]:
    """Parse long texts of all threads in another process."""
    process = ParserProcess()
    _processes.append(process)
    try:
        yield
    finally:
        _processes.remove(process)
        process.close()


def _process_for(source: str) -> ParserProcess | None:
    return _processes[-1] if _processes and len(source) > _SHORT else None


def _parse(source: str) -> google.Answer:
    process = _process_for(source)
    return process.ask(Request("parse", source)) if process else google.parse(source)


def _refuse(report: str, source: str, context: ParseContext) -> NoReturn:
    if _TOO_DEEP.search(report):
        problem = "the expression is nested deeper than the limit `depth` of CEL's parser, 32"
        raise FilterError(problem, path=context.path, value=source, limit="depth")
    found = _FAULT.search(report)
    if found is None:
        raise FilterError(f"the expression can't be read: {report[:200]}", path=context.path, value=source)
    line, column, problem = int(found[1]), int(found[2]), found[3]
    start = sum(len(each) + 1 for each in source.split("\n")[: line - 1])
    message = _IN_CONTAINER.sub("", _EXPECTED.sub("", problem))
    raise _error(message, source, start + column - 1, context)


def _error(
    problem: str, source: str, position: int, context: ParseContext, *, limit: str | None = None
) -> FilterError:
    return FilterError(
        problem, path=context.path, source=source, position=position, value=source, limit=limit
    )

"""Google's parser and checker of CEL, and their complaints as errors that point into the text.

Parsing leaves macros as they are written. Checking knows the variables of a filter: `type` is one of them,
which is why they are declared in a container (next to the function `type` no variable of that name may stand).
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from headrace.errors import FilterError
from headrace.filters.syntax import google
from headrace.filters.syntax.parser_process import ParserProcess, Question
from headrace.filters.syntax.trees import Syntax, read_positions, read_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.filters.dialects.dialect import Place

_FAULT = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_EXPECTED = re.compile(r" expecting \{.*\}")
_IN_CONTAINER = re.compile(r" \(in container '[^']*'\)")
_TOO_DEEP = re.compile(r"recursion (?:depth|limit)")
_SHORT = 2000
"""Characters of a text that is parsed within about ten milliseconds, whatever it says."""
_elsewhere: list[ParserProcess] = []


@dataclass(frozen=True, slots=True)
class Parsed:
    """An expression that is one of CEL, though perhaps no filter."""

    source: str
    tree: Syntax
    serialized: bytes
    place: Place

    def fault(self, problem: str, node: Syntax, *, limit: str | None = None) -> FilterError:
        """Return the error that points to the node."""
        position = read_positions(self.serialized).get(node.id, 0)
        return _error(problem, self.source, position, self.place, limit=limit)


def parse(source: str, place: Place) -> Parsed:
    """Read a text, or refuse it with the place of the fault."""
    if "\0" in source:
        raise _error("U+0000 is no part of an expression", source, source.index("\0"), place)
    answer = _parse(source)
    if answer.report:
        _refuse(answer.report, source, place)
    return Parsed(source, read_tree(answer.result), answer.result, place)


def check(source: str, place: Place) -> None:
    """Refuse names that nobody declared, operations that the types don't have, and what can't be true or false."""
    process = _process_for(source)
    answer = process.ask(Question("check", source)) if process else google.check(source)
    if answer.report:
        _refuse(answer.report, source, place)
    if answer.result:
        raise _error(f"a filter is true or false, not of type {answer.result.decode()}", source, 0, place)


def is_readable(source: str) -> bool:
    """Say whether the parser takes the text: it refuses those that nest too deep."""
    return not _parse(source).report


@contextmanager
def parsing_elsewhere() -> Iterator[None]:
    """Let long texts be parsed in another process, in all threads of this one."""
    process = ParserProcess()
    _elsewhere.append(process)
    try:
        yield
    finally:
        _elsewhere.remove(process)
        process.close()


def _process_for(source: str) -> ParserProcess | None:
    return _elsewhere[-1] if _elsewhere and len(source) > _SHORT else None


def _parse(source: str) -> google.Answer:
    process = _process_for(source)
    return process.ask(Question("parse", source)) if process else google.parse(source)


def _refuse(report: str, source: str, place: Place) -> NoReturn:
    if _TOO_DEEP.search(report):
        problem = "the expression nests deeper than the limit `depth` of CEL's parser, 32"
        raise FilterError(problem, path=place.path, value=source, limit="depth")
    found = _FAULT.search(report)
    if found is None:
        raise FilterError(f"the expression can't be read: {report[:200]}", path=place.path, value=source)
    line, column, problem = int(found[1]), int(found[2]), found[3]
    start = sum(len(each) + 1 for each in source.split("\n")[: line - 1])
    message = _IN_CONTAINER.sub("", _EXPECTED.sub("", problem))
    raise _error(message, source, start + column - 1, place)


def _error(
    problem: str, source: str, position: int, place: Place, *, limit: str | None = None
) -> FilterError:
    return FilterError(problem, path=place.path, source=source, position=position, value=source, limit=limit)

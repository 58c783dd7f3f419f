"""Google's parser and checker of CEL, and their complaints as errors that point into the text.

Parsing leaves macros as they are written. Checking knows the variables of a filter: `type` is one of them,
which is why they are declared in a container (next to the function `type` no variable of that name may stand).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NoReturn

from cel_expr_python import cel

from headrace.errors import FilterError
from headrace.filters.syntax.trees import Syntax, read_positions, read_tree

if TYPE_CHECKING:
    from headrace.filters.dialects.dialect import Place

_MACROS = "[has, all, exists, exists_one, map, filter]"
_CONTAINER = "f"
_FAULT = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_EXPECTED = re.compile(r" expecting \{.*\}")
_IN_CONTAINER = re.compile(r" \(in container '[^']*'\)")
_TOO_DEEP = re.compile(r"recursion (?:depth|limit)")


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
    try:
        serialized = _parser().compile(source, disable_check=True).serialize()
    except RuntimeError as error:
        _refuse(str(error), source, place)
    return Parsed(source, read_tree(serialized), serialized, place)


def check(source: str, place: Place) -> None:
    """Refuse names that nobody declared, operations that the types don't have, and what can't be true or false."""
    try:
        result = _checker().compile(source).return_type()
    except RuntimeError as error:
        _refuse(str(error), source, place)
    if result not in (cel.Type.BOOL, cel.Type.DYN):
        raise _error(f"a filter is true or false, not of type {result.name().lower()}", source, 0, place)


def is_readable(source: str) -> bool:
    """Say whether the parser takes the text: it refuses those that nest too deep."""
    try:
        _parser().compile(source, disable_check=True)
    except RuntimeError:
        return False
    return True


@cache
def _parser() -> cel.Env:
    return cel.NewEnv(config=cel.NewEnvConfigFromYaml(f"stdlib:\n  exclude_macros: {_MACROS}\n"))


@cache
def _checker() -> cel.Env:
    kinds = cel.Type
    variables = {
        "ce": kinds.Map(kinds.STRING, kinds.DYN),
        "data": kinds.DYN,
        "collection": kinds.STRING,
        "tenant": kinds.STRING,
        "type": kinds.STRING,
        # Any number may be compared with a time: declared as int, `publishTime > 1.5e12` would be refused.
        "publishTime": kinds.DYN,
        "eventTime": kinds.DYN,
    }
    glob = cel.Overload("string_match_glob", kinds.BOOL, [kinds.STRING, kinds.STRING], is_member=True)
    return cel.NewEnv(
        variables={f"{_CONTAINER}.{name}": kind for name, kind in variables.items()},
        container=_CONTAINER,
        functions=[cel.FunctionDecl("match", [glob])],
    )


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

"""What Google's parser and checker of CEL say of a text, as values.

They hold the interpreter for as long as they work, about half a second for the longest texts: no other thread of the
process gets on meanwhile. `parser_process.py` lets them work elsewhere.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from cel_expr_python import cel

_MACROS = "[has, all, exists, exists_one, map, filter]"
_CONTAINER = "f"


class Answer(NamedTuple):
    """`result` is the serialized tree, or the name of the type; without one `report` says what is wrong."""

    result: bytes = b""
    report: str = ""


def parse(source: str) -> Answer:
    """Return the tree of a text, with its macros as they are written."""
    try:
        return Answer(_parser().compile(source, disable_check=True).serialize())
    except RuntimeError as error:
        return Answer(report=str(error))


def check(source: str) -> Answer:
    """Return the type of a text, with the variables of a filter."""
    try:
        kind = _checker().compile(source).return_type()
    except RuntimeError as error:
        return Answer(report=str(error))
    return Answer(b"" if kind in (cel.Type.BOOL, cel.Type.DYN) else kind.name().lower().encode())


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

"""Google's parser and checker of CEL.

They hold the interpreter lock while they work, about half a second for the longest texts, and block all other threads.
`parser_process.py` runs them in another process.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from cel_expr_python import cel

from headrace.filters.syntax.extensions import declared

_MACROS = "[has, all, exists, exists_one, map, filter]"
_CONTAINER = "f"


class Answer(NamedTuple):
    """The serialized tree or the name of a type, else a report of what is wrong."""

    result: bytes = b""
    report: str = ""


def parse(source: str) -> Answer:
    """Return the tree of a text, with unexpanded macros."""
    try:
        return Answer(_parser().compile(source, disable_check=True).serialize())
    except RuntimeError as error:
        return Answer(report=str(error))


def check(source: str) -> Answer:
    """Return the type of a text over the variables of a filter; nothing if it may be boolean."""
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
        # Times may be compared with any number: declared as int, `publishTime > 1.5e12` would be refused.
        "publishTime": kinds.DYN,
        "eventTime": kinds.DYN,
    }
    return cel.NewEnv(
        variables={f"{_CONTAINER}.{name}": kind for name, kind in variables.items()},
        container=_CONTAINER,
        functions=declared(),
    )

"""The standard functions of CESQL, by name and number of arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import FilterError
from headrace.filters.cesql.syntax import Call, children

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.filters.cesql.syntax import Node


class _Function(NamedTuple):
    """A function of CEL with the same meaning. Of `separate` arguments and more, the others are in a list."""

    cel: str
    returns: type
    arities: tuple[int, ...] = (1,)
    separate: int | None = None


def require_functions(node: Node, text: str) -> None:
    """Refuse calls of unknown functions, with their position in the text."""
    if isinstance(node, Call) and not _takes(node.name, len(node.arguments)):
        problem = _missing(node.name, len(node.arguments))
        raise FilterError(problem, source=text, position=node.position, value=node.name)
    for child in children(node):
        require_functions(child, text)


def _takes(name: str, arity: int) -> bool:
    function = FUNCTIONS.get(name)
    if function is None:
        return False
    return arity in function.arities if function.separate is None else arity >= function.separate


def _missing(name: str, arity: int) -> str:
    if name in FUNCTIONS:
        return f"{name} doesn't take {arity} argument{'' if arity == 1 else 's'}"
    return f"there is no function {name}; known are {', '.join(FUNCTIONS)}"


FUNCTIONS: Mapping[str, _Function] = {
    "LENGTH": _Function("sqlLength", int),
    "CONCAT": _Function("sqlConcat", str, separate=0),
    "CONCAT_WS": _Function("sqlConcatWs", str, separate=1),
    "LOWER": _Function("sqlLower", str),
    "UPPER": _Function("sqlUpper", str),
    "TRIM": _Function("sqlTrim", str),
    "LEFT": _Function("sqlLeft", str, (2,)),
    "RIGHT": _Function("sqlRight", str, (2,)),
    "SUBSTRING": _Function("sqlSubstring", str, (2, 3)),
    "ABS": _Function("sqlAbs", int),
    "INT": _Function("sqlInt", int),
    "BOOL": _Function("sqlBool", bool),
    "STRING": _Function("sqlString", str),
}

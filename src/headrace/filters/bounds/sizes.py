"""Check that a tree is within the limits of a filter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.errors import FilterError
from headrace.filters.backends.cel import write_cel
from headrace.filters.bounds.costs import count_scans
from headrace.filters.ir.atoms import STRING_TESTS, Comparison, Has, Includes, OneOf
from headrace.filters.ir.expression import And, Constant, Not, Or, nodes_of, parts_of
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path, Text
from headrace.filters.ir.terms import Call, HasKey, ListOf, Local, Macro, MapOf, Operation, Select, TypeName
from headrace.filters.syntax.parser import is_readable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.filters.bounds.limits import Limits
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.operands import Operand

SURELY_READABLE = 10
"""CEL's parser reads the text of any tree up to this depth."""

_FREE = frozenset({Constant, Not, And, Or, Has, HasKey, Path, Text, Literal, Local, TypeName, Select})
_FREE_FUNCTIONS = frozenset({"sqlAttribute", "sqlNot", "sqlAnd", "sqlOr", "sqlXor"})
_PER_NODE = 60
_NUMBER = 2
# A character may need an escape of six, and a presence test may repeat the map that it asks.
_PER_CHARACTER = 12


@dataclass(slots=True)
class _Size:
    """The size of a tree. `text` is a generous upper bound of the length of its CEL text.

    `depth` is an upper bound of half of the depth that CEL's parser counts.
    """

    atoms: int = 0
    text: int = 0
    depth: int = 0
    macros: list[Macro] = field(default_factory=list)


def sizes_of(expression: Expression) -> dict[str, int]:
    """Return how much of each limit that counts something in the tree is used, by the limit's name."""
    size = _size_of(expression)
    return {
        "atoms": size.atoms,
        "scans": count_scans(expression),
        "macros": len(size.macros),
        "body": max(map(_nodes_inside, size.macros), default=0),
    }


def check_size(expression: Expression, limits: Limits) -> None:
    """Refuse a tree that exceeds any limit, or whose CEL text can't be parsed."""
    size = _size_of(expression)
    limits.check("atoms", size.atoms, "comparisons", path="filters")
    limits.check("scans", count_scans(expression), "searches and comparisons of values", path="filters")
    limits.check("macros", len(size.macros), "macros", path="filters")
    for macro in size.macros:
        limits.check("body", _nodes_inside(macro), "nodes in the body of a macro", path="filters")
    if size.text > limits.expression or size.depth > SURELY_READABLE:
        _check_text(expression, size, limits)


def _nodes_inside(macro: Macro) -> int:
    return sum(1 for body in macro.bodies for _ in nodes_of(body))


def _check_text(expression: Expression, size: _Size, limits: Limits) -> None:
    text = write_cel(expression)
    limits.check("expression", len(text), "characters of CEL text", path="filters")
    if size.depth > SURELY_READABLE and not is_readable(text):
        problem = "its CEL text is nested deeper than the limit `depth` of CEL's parser, 32"
        raise FilterError(problem, path="filters", limit="depth")


def _size_of(expression: Expression) -> _Size:
    size = _Size()
    waiting = [(expression, 1)]
    while waiting:
        node, depth = waiting.pop()
        kind = type(node)
        below, characters = _WEIGHTS[kind](node)
        size.atoms += kind not in _FREE and not (isinstance(node, Call) and node.function in _FREE_FUNCTIONS)
        size.text += _PER_NODE + _PER_CHARACTER * characters
        size.depth = max(size.depth, depth + below)
        if isinstance(node, Macro):
            size.macros.append(node)
        waiting.extend([(part, depth + 1) for part in reversed(parts_of(node))])
    return size


def _weigh_path(node: Path) -> tuple[int, int]:
    steps = node.steps
    return len(steps) - 1, len("".join(steps)) + len(steps)


def _weigh_text(node: Text) -> tuple[int, int]:
    below, characters = _weigh_path(node.path)
    return below + 1, characters


def _weigh_literal(node: Literal) -> tuple[int, int]:
    value = node.value
    return 0, len(value) if isinstance(value, str | bytes) else _NUMBER


def _weigh_test(operand: Operand, characters: int) -> tuple[int, int]:
    below, more = _weigh_path(operand) if isinstance(operand, Path) else _weigh_text(operand)
    return below + 1, characters + more


def _weigh_one_of(node: OneOf) -> tuple[int, int]:
    return _weigh_test(node.operand, sum([_weigh_literal(each)[1] + 1 for each in node.literals]))


def _weigh_nothing(_node: Any) -> tuple[int, int]:
    return 0, 0


_WEIGHTS: Mapping[type, Callable[[Any], tuple[int, int]]] = {
    **dict.fromkeys((Constant, Not, And, Or, ListOf, MapOf, Operation), _weigh_nothing),
    **dict.fromkeys((Local, TypeName), lambda node: (0, len(node.name))),
    **dict.fromkeys((Select, HasKey), lambda node: (0, len(node.key))),
    **dict.fromkeys(
        (Comparison, Includes), lambda node: _weigh_test(node.operand, _weigh_literal(node.literal)[1])
    ),
    **dict.fromkeys(STRING_TESTS, lambda node: _weigh_test(node.operand, len(node.argument))),
    Path: _weigh_path,
    Text: _weigh_text,
    Literal: _weigh_literal,
    Has: lambda node: _weigh_path(node.path),
    OneOf: _weigh_one_of,
    Call: lambda node: (0, len(node.function)),
    Macro: lambda node: (0, len(node.variable)),
}
"""The levels of a node below its first one, and its own characters, without those of its parts."""

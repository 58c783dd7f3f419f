"""Check that a tree is within the limits of a filter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from headrace.errors import FilterError
from headrace.filters.backends.cel import write_cel
from headrace.filters.bounds.costs import count_scans
from headrace.filters.ir.operands import Path
from headrace.filters.ir.parts import nodes_of, parts_of
from headrace.filters.ir.terms import Macro
from headrace.filters.ir.visitor import Visitor
from headrace.filters.syntax.parser import is_readable

if TYPE_CHECKING:
    from headrace.filters.bounds.limits import Limits
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.literals import Literal
    from headrace.filters.ir.operands import Operand

SURELY_READABLE = 10
"""CEL's parser reads the text of any tree up to this depth."""

_FREE = frozenset({"sqlAttribute", "sqlNot", "sqlAnd", "sqlOr", "sqlXor"})
"""Calls that count as little as the paths and connectives that they stand for."""

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
        atoms, characters, below = _WEIGHTS.function_for(node)(node)
        size.atoms += atoms
        size.text += _PER_NODE + _PER_CHARACTER * characters
        size.depth = max(size.depth, depth + below)
        if isinstance(node, Macro):
            size.macros.append(node)
        waiting.extend([(part, depth + 1) for part in reversed(parts_of(node))])
    return size


_Weight: TypeAlias = tuple[int, int, int]
"""The atoms that a node counts as, its characters and its levels below the first one, without those of its parts."""

_NOTHING, _ATOM = (0, 0, 0), (1, 0, 0)


def _weigh_path(node: Path) -> _Weight:
    steps = node.steps
    return 0, len("".join(steps)) + len(steps), len(steps) - 1


def _weigh_operand(node: Operand) -> _Weight:
    if isinstance(node, Path):
        return _weigh_path(node)
    _, characters, below = _weigh_path(node.path)
    return 0, characters, below + 1


def _weigh_test(operand: Operand, characters: int) -> _Weight:
    _, more, below = _weigh_operand(operand)
    return 1, characters + more, below + 1


def _characters(literal: Literal) -> int:
    return len(literal.value) if isinstance(literal.value, str | bytes) else _NUMBER


_WEIGHTS: Visitor[[], _Weight] = Visitor(
    constant=lambda _: _NOTHING,
    negation=lambda _: _NOTHING,
    conjunction=lambda _: _NOTHING,
    disjunction=lambda _: _NOTHING,
    literal=lambda node: (0, _characters(node), 0),
    path=_weigh_path,
    text=_weigh_operand,
    has=lambda node: _weigh_path(node.path),
    comparison=lambda node: _weigh_test(node.operand, _characters(node.literal)),
    one_of=lambda node: _weigh_test(node.operand, sum([_characters(each) + 1 for each in node.literals])),
    includes=lambda node: _weigh_test(node.operand, _characters(node.literal)),
    string_test=lambda node: _weigh_test(node.operand, len(node.argument)),
    local=lambda node: (0, len(node.name), 0),
    type_name=lambda node: (0, len(node.name), 0),
    select=lambda node: (0, len(node.key), 0),
    has_key=lambda node: (0, len(node.key), 0),
    list_of=lambda _: _ATOM,
    map_of=lambda _: _ATOM,
    operation=lambda _: _ATOM,
    call=lambda node: (node.function not in _FREE, len(node.function), 0),
    macro=lambda node: (1, len(node.variable), 0),
)

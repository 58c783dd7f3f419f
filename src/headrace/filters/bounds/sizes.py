"""Whether a tree stays within the limits of a filter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.errors import FilterError
from headrace.filters.backends.cel import write_cel
from headrace.filters.bounds.scans import count_scans
from headrace.filters.ir.atoms import (
    Comparison,
    Contains,
    EndsWith,
    Has,
    Includes,
    Matches,
    MatchesGlob,
    OneOf,
    StartsWith,
)
from headrace.filters.ir.expression import And, Constant, Not, Or, nodes_of, parts_of
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.opaque import Opaque
from headrace.filters.ir.operands import Path, Text
from headrace.filters.ir.terms import Call, HasKey, ListOf, Local, Macro, MapOf, Operation, Select, TypeName
from headrace.filters.syntax.parser import is_readable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.filters.bounds.limits import Limits
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.operands import Operand

SURELY_READABLE = 10
"""A tree of no more than this depth has a text that CEL's parser takes."""

_FREE = frozenset({Constant, Not, And, Or, Has, HasKey, Path, Text, Literal, Local, TypeName, Select})
_PER_NODE = 60
_NUMBER = 2
_PER_CHARACTER = (
    12  # a character may need an escape of six, and the holder of a key stands twice in a presence test
)


@dataclass(slots=True)
class _Size:
    """What one walk over a tree finds. `text` is an upper bound for the length of its CEL, seldom a close one.

    `depth` is one for half of the depth that CEL's parser counts.
    """

    atoms: int = 0
    text: int = 0
    depth: int = 0
    macros: list[Macro] = field(default_factory=list)


def sizes_of(expression: Expression) -> dict[str, int]:
    """Return how much of the limits a tree uses, by the limit's name: of those that count something in the tree."""
    size = _size_of(expression)
    return {
        "atoms": size.atoms,
        "scans": count_scans(expression),
        "macros": len(size.macros),
        "body": max(map(_nodes_inside, size.macros), default=0),
    }


def check_size(expression: Expression, limits: Limits) -> None:
    """Refuse a tree above any limit, with the limit's name. Its CEL text has to be one that can be read."""
    size = _size_of(expression)
    _check_count("atoms", "comparisons", size.atoms, limits.atoms)
    _check_count("scans", "searches and comparisons of values", count_scans(expression), limits.scans)
    _check_count("macros", "macros", len(size.macros), limits.macros)
    for macro in size.macros:
        _check_count("body", "nodes in the body of a macro", _nodes_inside(macro), limits.body)
    if size.text > limits.expression or size.depth > SURELY_READABLE:
        _check_text(expression, size, limits)


def _nodes_inside(macro: Macro) -> int:
    return sum(1 for body in macro.bodies for _ in nodes_of(body))


def _check_count(limit: str, what: str, count: int, most: int) -> None:
    if count > most:
        problem = f"{count} {what} are more than the limit `{limit}` of {most}"
        raise FilterError(problem, path="filters", limit=limit)


def _check_text(expression: Expression, size: _Size, limits: Limits) -> None:
    text = write_cel(_with_texts(expression))
    if len(text) > limits.expression:
        problem = (
            f"its CEL text of {len(text)} characters is above the limit `expression` of {limits.expression}"
        )
        raise FilterError(problem, path="filters", limit="expression")
    if size.depth > SURELY_READABLE and not is_readable(text):
        problem = "its CEL text nests deeper than the limit `depth` of CEL's parser, 32"
        raise FilterError(problem, path="filters", limit="depth")


def _with_texts(expression: Expression) -> Expression:
    """Return the tree with a text of the same length where a clause has no CEL."""
    match expression:
        case Opaque():
            return Literal(expression.text)
        case Not(part):
            return Not(_with_texts(part))
        case And(parts):
            return And(tuple(map(_with_texts, parts)))
        case Or(parts):
            return Or(tuple(map(_with_texts, parts)))
        case _:
            return expression


def _size_of(expression: Expression) -> _Size:
    size = _Size()
    waiting = [(expression, 1)]
    while waiting:
        node, depth = waiting.pop()
        kind = type(node)
        below, characters = _WEIGHTS.get(kind, _weigh_opaque)(node)
        size.atoms += kind not in _FREE
        size.text += _PER_NODE + _PER_CHARACTER * characters
        size.depth = max(size.depth, depth + below)
        if isinstance(node, Macro):
            size.macros.append(node)
        waiting.extend([(part, depth + 1) for part in reversed(parts_of(node))])
    return size


def _weigh_opaque(node: Any) -> tuple[int, int]:
    return 0, len(node.text)


def _weigh_path(node: Path) -> tuple[int, int]:
    steps = node.steps
    return len(steps) - 1, len("".join(steps)) + len(steps)


def _weigh_text(node: Text) -> tuple[int, int]:
    below, characters = _weigh_path(node.path)
    return below + 1, characters


def _weigh_literal(node: Literal) -> tuple[int, int]:
    value = node.value
    return 0, len(value) if isinstance(value, str | bytes) else _NUMBER


def _weigh_question(operand: Operand, characters: int) -> tuple[int, int]:
    below, more = _weigh_path(operand) if isinstance(operand, Path) else _weigh_text(operand)
    return below + 1, characters + more


def _weigh_one_of(node: OneOf) -> tuple[int, int]:
    return _weigh_question(node.operand, sum([_weigh_literal(each)[1] + 1 for each in node.literals]))


def _weigh_nothing(_node: Any) -> tuple[int, int]:
    return 0, 0


_WEIGHTS: Mapping[type, Callable[[Any], tuple[int, int]]] = {
    **dict.fromkeys((Constant, Not, And, Or, ListOf, MapOf, Operation), _weigh_nothing),
    **dict.fromkeys((Local, TypeName), lambda node: (0, len(node.name))),
    **dict.fromkeys((Select, HasKey), lambda node: (0, len(node.key))),
    **dict.fromkeys(
        (Comparison, Includes), lambda node: _weigh_question(node.operand, _weigh_literal(node.literal)[1])
    ),
    **dict.fromkeys((Matches, MatchesGlob), lambda node: _weigh_question(node.operand, len(node.pattern))),
    Path: _weigh_path,
    Text: _weigh_text,
    Literal: _weigh_literal,
    Has: lambda node: _weigh_path(node.path),
    OneOf: _weigh_one_of,
    StartsWith: lambda node: _weigh_question(node.operand, len(node.prefix)),
    EndsWith: lambda node: _weigh_question(node.operand, len(node.suffix)),
    Contains: lambda node: _weigh_question(node.operand, len(node.text)),
    Call: lambda node: (0, len(node.function)),
    Macro: lambda node: (0, len(node.variable)),
}
"""By how much a node is deeper than one level, and how many characters it has of its own."""

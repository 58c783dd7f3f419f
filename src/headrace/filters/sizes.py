"""Whether a tree stays within the limits of a filter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import FilterError
from headrace.filters.backends.cel import write_cel
from headrace.filters.ir.atoms import Has
from headrace.filters.ir.expression import And, Constant, Not, Or, nodes_of, parts_of
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.opaque import Opaque
from headrace.filters.ir.operands import Path, Text
from headrace.filters.ir.terms import HasKey, Local, Macro, Select, TypeName
from headrace.filters.scans import count_scans
from headrace.filters.syntax.parser import is_readable

if TYPE_CHECKING:
    from headrace.filters.ir.expression import Expression
    from headrace.filters.limits import Limits

_FREE = (Constant, Not, And, Or, Has, HasKey, Path, Text, Literal, Local, TypeName, Select)
_SURELY_READABLE = 10


def check_size(expression: Expression, limits: Limits) -> None:
    """Refuse a tree above any limit, with the limit's name. Its CEL text has to be one that can be read."""
    nodes = list(nodes_of(expression))
    _check_count("atoms", "comparisons", sum(not isinstance(node, _FREE) for node in nodes), limits.atoms)
    _check_count("scans", "searches and comparisons of values", count_scans(expression), limits.scans)
    macros = [node for node in nodes if isinstance(node, Macro)]
    _check_count("macros", "macros", len(macros), limits.macros)
    for macro in macros:
        inside = sum(1 for body in macro.bodies for _ in nodes_of(body))
        _check_count("body", "nodes in the body of a macro", inside, limits.body)
    _check_text(expression, limits)


def _check_count(limit: str, what: str, count: int, most: int) -> None:
    if count > most:
        problem = f"{count} {what} are more than the limit `{limit}` of {most}"
        raise FilterError(problem, path="filters", limit=limit)


def _check_text(expression: Expression, limits: Limits) -> None:
    text = write_cel(_with_texts(expression))
    if len(text) > limits.expression:
        problem = (
            f"its CEL text of {len(text)} characters is above the limit `expression` of {limits.expression}"
        )
        raise FilterError(problem, path="filters", limit="expression")
    if _depth(expression) > _SURELY_READABLE and not is_readable(text):
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


def _depth(expression: Expression) -> int:
    """Return an upper bound for half of the depth that CEL's parser counts."""
    match expression:
        case Path(steps) | Has(Path(steps)):
            return len(steps)
        case Text(path):
            return len(path.steps) + 1
        case _:
            operand = getattr(expression, "operand", None)
            inner = (
                [_depth(operand)] if isinstance(operand, Path | Text) else map(_depth, parts_of(expression))
            )
            return 1 + max(inner, default=0)

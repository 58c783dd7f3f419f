"""The one door from what a user wrote to a filter that can be evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import FilterError
from headrace.filters.backends.cel import write_cel
from headrace.filters.dialects.dialect import Place, is_array
from headrace.filters.dialects.table import parse_filter
from headrace.filters.filter import Filter
from headrace.filters.ir.atoms import Has
from headrace.filters.ir.expression import And, Constant, Not, Or, all_of, nodes_of, parts_of
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path, Text
from headrace.filters.ir.terms import HasKey, Local, Macro, Select, TypeName
from headrace.filters.limits import DEFAULT_LIMITS, Limits
from headrace.filters.rewrites.flatten import flatten
from headrace.filters.syntax.parser import is_readable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.filters.ir.expression import Expression

_FREE = (Constant, Not, And, Or, Has, HasKey, Path, Text, Literal, Local, TypeName, Select)
_SURELY_READABLE = 10


def compile_filter(
    spec: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None, *, limits: Limits = DEFAULT_LIMITS
) -> Filter:
    """Compile one filter object, or a list of them that must all hold; no list or an empty one holds always.

    Raises `FilterError` for whatever isn't a filter, with the path to the fault. Nothing is skipped.
    """
    notes: list[str] = []
    expression = flatten(_parse(spec, limits, notes))
    _check_size(expression, limits)
    return Filter(expression, tuple(dict.fromkeys(notes)))


def _parse(spec: object, limits: Limits, notes: list[str]) -> Expression:
    if spec is None:
        return all_of(())
    if is_array(spec):
        root = Place("filters", limits, parse_filter, notes)
        return all_of(tuple(parse_filter(each, root.element(index)) for index, each in enumerate(spec)))
    return parse_filter(spec, Place("filter", limits, parse_filter, notes))


def _check_size(expression: Expression, limits: Limits) -> None:
    nodes = list(nodes_of(expression))
    _check_count("atoms", "comparisons", sum(not isinstance(node, _FREE) for node in nodes), limits.atoms)
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
    text = write_cel(expression)
    if len(text) > limits.expression:
        problem = (
            f"its CEL text of {len(text)} characters is above the limit `expression` of {limits.expression}"
        )
        raise FilterError(problem, path="filters", limit="expression")
    if _depth(expression) > _SURELY_READABLE and not is_readable(text):
        problem = "its CEL text nests deeper than the limit `depth` of CEL's parser, 32"
        raise FilterError(problem, path="filters", limit="depth")


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

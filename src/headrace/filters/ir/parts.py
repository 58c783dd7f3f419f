"""What is inside an expression: its parts, all of its nodes, and the paths that it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.filters.ir.atoms import Has
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import CE, Path, Text, attribute
from headrace.filters.ir.terms import Call
from headrace.filters.ir.visitor import Visitor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.filters.ir.expression import Expression


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """Return the expressions directly inside this one."""
    try:
        find = _FUNCTIONS[type(expression)]
    except KeyError:
        find = _PARTS.function_for(expression)
    return find(expression)


def nodes_of(expression: Expression) -> Iterator[Expression]:
    """Yield the expression and everything inside it, including terms, from left to right."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(parts_of(node)))


def paths_of(expression: Expression) -> Iterator[Path]:
    """Yield the paths that the expression reads, with repetitions."""
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        match getattr(node, "operand", node):
            case Text(path) | Has(path) | (Path() as path):
                yield path
            case Call("sqlAttribute", (Path() as holder, Literal(str(name)))) if holder == CE:
                yield attribute(name)
                continue
        waiting.extend(reversed(parts_of(node)))


def _none(_node: Any) -> tuple[Expression, ...]:
    return ()


_PARTS: Visitor[[], tuple[Expression, ...]] = Visitor(
    constant=_none,
    negation=lambda node: (node.part,),
    conjunction=lambda node: node.parts,
    disjunction=lambda node: node.parts,
    literal=_none,
    path=_none,
    text=_none,
    has=_none,
    comparison=_none,
    one_of=_none,
    includes=_none,
    string_test=_none,
    local=_none,
    type_name=_none,
    select=lambda node: (node.operand,),
    has_key=lambda node: (node.operand,),
    list_of=lambda node: node.elements,
    map_of=lambda node: node.keys + node.values,
    operation=lambda node: node.operands,
    call=lambda node: node.arguments,
    macro=lambda node: (node.range, *node.bodies),
)
_FUNCTIONS = _PARTS.by_type

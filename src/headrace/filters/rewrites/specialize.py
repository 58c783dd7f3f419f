"""`type(x) == int && int(x) > 1 -> type(x) == int && x > 1`: a clause that fixes a type simplifies the others.

Valid for clauses that must all be true, where unknown counts as false: the others matter only where the clause that
fixes the type is true. So CESQL, which tests the type of every attribute that it converts, becomes atoms that an index
can answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.filters.backends.reference import evaluate
from headrace.filters.ir.atoms import Comparison, Operator, StringTest
from headrace.filters.ir.expression import Constant
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path
from headrace.filters.ir.terms import Call, ListOf, Operation, TypeName

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.filters.ir.expression import Expression

_COMPARISONS = {operator.value: operator for operator in Operator}
_TRUE, _FALSE = Constant(value=True), Constant(value=False)


def specialize(parts: tuple[Expression, ...]) -> tuple[Expression, ...] | None:
    """Return clauses that are all true exactly where these are; None if these never are."""
    types: dict[Path, str] = {}
    for part in parts:
        fixed = _fixed_type(part)
        if fixed is not None and types.setdefault(fixed[0], fixed[1]) != fixed[1]:
            return None
    if not types:
        return parts
    made = [part if _fixed_type(part) else _specialized(part, types) for part in parts]
    if _FALSE in made:
        return None
    return tuple(dict.fromkeys(part for part in made if part != _TRUE))


def _fixed_type(part: Expression) -> tuple[Path, str] | None:
    """Return a path and the type that its value has wherever the clause is true; None if that fixes no type."""
    match part:
        case Operation("==", (Call("type", (Path() as path,)), TypeName(name))):
            return path, name
        case StringTest() if isinstance(part.operand, Path):
            return part.operand, "string"
        case _:
            return None


def _specialized(term: Expression, types: Mapping[Path, str]) -> Expression:
    match term:
        case Operation("==", (Call("type", (Path() as path,)), TypeName(name))) if path in types:
            return Constant(types[path] == name)
        case Operation("in", (Call("type", (Path() as path,)), ListOf(names))) if path in types:
            named = all(isinstance(each, TypeName) for each in names)
            return Constant(TypeName(types[path]) in names) if named else term
        case Call("int", (Path() as path,)) if types.get(path) == "int":
            return path
        case Operation(operator, operands):
            return _simplified(
                Operation(operator, tuple(_specialized(each, types) for each in operands)), types
            )
        case _:
            return term


def _simplified(term: Operation, types: Mapping[Path, str]) -> Expression:
    match term:
        case Operation("?:", (Constant(value), chosen, other)):
            return chosen if value else other
        case Operation(operator, (Path() as path, Literal() as literal)) if operator in _COMPARISONS:
            return Comparison(path, _COMPARISONS[operator], literal)
        case Operation(operator, (Operation("?:", (Path() as path, *chosen)), Literal() as literal)) if (
            operator in _COMPARISONS
            and types.get(path) == "bool"
            and all(isinstance(each, Literal) for each in chosen)
        ):
            truths = [evaluate(Operation(operator, (each, literal)), {}) is True for each in chosen]
            if truths[0] == truths[1]:
                return Constant(truths[0])
            return Comparison(path, Operator.EQUAL, Literal(truths[0]))
        case _:
            return term

"""One function for each kind of node: what a walk over the tree does there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Concatenate, Generic, ParamSpec, TypeVar, assert_never

from headrace.filters.ir.atoms import Comparison, Has, Includes, OneOf, StringTest
from headrace.filters.ir.expression import And, Constant, Not, Or
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path, Text
from headrace.filters.ir.terms import Call, HasKey, ListOf, Local, Macro, MapOf, Operation, Select, TypeName

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.filters.ir.atoms import TextTest
    from headrace.filters.ir.expression import Expression

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor(Generic[P, R]):
    """The functions of one walk. A walk that forgets a kind of node doesn't type-check, nor does it start.

    A new string test is walked as the others are.
    """

    constant: Callable[Concatenate[Constant, P], R]
    negation: Callable[Concatenate[Not, P], R]
    conjunction: Callable[Concatenate[And, P], R]
    disjunction: Callable[Concatenate[Or, P], R]
    literal: Callable[Concatenate[Literal, P], R]
    path: Callable[Concatenate[Path, P], R]
    text: Callable[Concatenate[Text, P], R]
    has: Callable[Concatenate[Has, P], R]
    comparison: Callable[Concatenate[Comparison, P], R]
    one_of: Callable[Concatenate[OneOf, P], R]
    includes: Callable[Concatenate[Includes, P], R]
    string_test: Callable[Concatenate[TextTest, P], R]
    local: Callable[Concatenate[Local, P], R]
    type_name: Callable[Concatenate[TypeName, P], R]
    select: Callable[Concatenate[Select, P], R]
    has_key: Callable[Concatenate[HasKey, P], R]
    list_of: Callable[Concatenate[ListOf, P], R]
    map_of: Callable[Concatenate[MapOf, P], R]
    operation: Callable[Concatenate[Operation, P], R]
    call: Callable[Concatenate[Call, P], R]
    macro: Callable[Concatenate[Macro, P], R]
    by_type: dict[type, Callable[..., R]] = field(default_factory=dict, init=False)
    """The functions of the types that were met so far. Where every microsecond counts, look here first."""

    def visit(self, node: Expression, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function of this node."""
        return self.function_for(node)(node, *args, **kwargs)

    def function_for(self, node: Expression) -> Callable[..., R]:
        """Return the function of this node, and of all others of its type."""
        if type(node) not in self.by_type:
            self.by_type[type(node)] = self._find(node)
        return self.by_type[type(node)]

    def _find(self, node: Expression) -> Callable[..., R]:  # noqa: C901, PLR0911, PLR0912 -- one per node
        match node:
            case Constant():
                return self.constant
            case Not():
                return self.negation
            case And():
                return self.conjunction
            case Or():
                return self.disjunction
            case Literal():
                return self.literal
            case Path():
                return self.path
            case Text():
                return self.text
            case Has():
                return self.has
            case Comparison():
                return self.comparison
            case OneOf():
                return self.one_of
            case Includes():
                return self.includes
            case StringTest():
                return self.string_test
            case Local():
                return self.local
            case TypeName():
                return self.type_name
            case Select():
                return self.select
            case HasKey():
                return self.has_key
            case ListOf():
                return self.list_of
            case MapOf():
                return self.map_of
            case Operation():
                return self.operation
            case Call():
                return self.call
            case Macro():
                return self.macro
            case _:
                assert_never(node)

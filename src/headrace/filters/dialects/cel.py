"""CEL, Google's Common Expression Language: `{"cel": "data.amount > 100 && ce.type.startsWith('order.')"}`.

Unknown variables and functions are refused. The fields of `ce` and `data` are known only from an event.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headrace.filters.ir import construct
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path, attribute
from headrace.filters.ir.terms import ListOf, Local, Macro, MapOf, Operation, TypeName
from headrace.filters.syntax.parser import check, parse
from headrace.filters.syntax.trees import (
    Const,
    Ident,
    Invocation,
    ListSyntax,
    Selection,
    StructSyntax,
    Syntax,
    Unsupported,
)
from headrace.filters.values.functions import FUNCTIONS
from headrace.filters.values.kinds import Kind
from headrace.filters.values.patterns import InvalidPattern, compile_pattern, translate
from headrace.filters.variables import NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.filters.dialects.dialect import ParseContext
    from headrace.filters.ir.expression import Expression
    from headrace.filters.syntax.parser import Parsed

_TYPE_NAMES = frozenset(kind.value for kind in Kind)
_COMPARISONS = {f"_{symbol}_": symbol for symbol in ("==", "!=", "<", "<=", ">", ">=")}
_ARITHMETIC = {f"_{symbol}_": symbol for symbol in "+-*/%"}
_MACRO_ARITIES = {"all": (2,), "exists": (2,), "exists_one": (2,), "filter": (2,), "map": (2, 3)}
_PATTERNS: Mapping[str, Callable[[str], str]] = {"matches": lambda pattern: pattern, "match": translate}


def parse_cel(body: object, context: ParseContext) -> Expression:
    """Parse a boolean expression."""
    source = context.checked_text(body, "expression", "an expression, a string that is not empty")
    parsed = parse(source, context)
    check(source, context)
    return construct.condition(_Reader(parsed, context).read(parsed.tree))


@dataclass(frozen=True, slots=True)
class _Reader:
    """Turns syntax into nodes. `locals` are the variables of the enclosing macros."""

    parsed: Parsed
    context: ParseContext
    locals: frozenset[str] = field(default_factory=frozenset)

    def read(self, node: Syntax) -> Expression:
        match node:
            case Const(_, value):
                return Literal(value)
            case Ident():
                return self._read_name(node)
            case Selection(_, operand, key):
                return self._type_name(node) or construct.selected(self.read(operand), key)
            case Invocation():
                return self._read_invocation(node)
            case ListSyntax(_, elements):
                return ListOf(self._read_all(elements))
            case StructSyntax():
                return self._read_map(node)
            case Unsupported():
                raise self.parsed.fault("this syntax is not supported in filters", node)

    def _read_all(self, nodes: list[Syntax]) -> tuple[Expression, ...]:
        return tuple(map(self.read, nodes))

    def _read_name(self, node: Ident) -> Expression:
        name = node.name
        if name in self.locals:
            return Local(name)
        if name == "type":
            return attribute("type")
        if name in NAMES:
            return Path((name,))
        if name in _TYPE_NAMES:
            return TypeName(name)
        raise self.parsed.fault(f"undeclared reference to '{name}'", node)

    def _type_name(self, node: Selection) -> Expression | None:
        steps: list[str] = []
        inner: Syntax = node
        while isinstance(inner, Selection):
            steps.append(inner.field)
            inner = inner.operand
        if not isinstance(inner, Ident) or inner.name in self.locals:
            return None
        name = ".".join([inner.name, *reversed(steps)])
        return TypeName(name) if name in _TYPE_NAMES else None

    def _read_invocation(self, node: Invocation) -> Expression:
        function, count = node.function, len(node.arguments)
        if node.target is None and function == "has" and count == 1:
            return self._read_presence(node)
        if node.target is not None and count in _MACRO_ARITIES.get(function, ()):
            return self._read_macro(node, node.target)
        if function in FUNCTIONS:
            return self._read_call(node)
        return self._read_operator(node)

    def _read_presence(self, node: Invocation) -> Expression:
        (selection,) = node.arguments
        if not isinstance(selection, Selection):
            raise self.parsed.fault("has() takes a key: has(data.key)", selection)
        return construct.present(self.read(selection.operand), selection.field)

    def _read_macro(self, node: Invocation, target: Syntax) -> Expression:
        variable, *bodies = node.arguments
        if not isinstance(variable, Ident):
            raise self.parsed.fault(
                f"the first argument of {node.function}() must be the name of a variable", variable
            )
        inner = replace(self, locals=self.locals | {variable.name})
        conditions = len(bodies) if node.function != "map" else len(bodies) - 1
        read = inner._read_all(bodies)  # noqa: SLF001 -- of the same class
        settled = tuple(
            construct.condition(body) if index < conditions else body for index, body in enumerate(read)
        )
        return Macro(node.function, self.read(target), variable.name, settled)

    def _read_call(self, node: Invocation) -> Expression:
        nodes = node.arguments if node.target is None else [node.target, *node.arguments]
        if len(nodes) not in FUNCTIONS[node.function].arity:
            raise self.parsed.fault(f"{node.function}() doesn't take {len(node.arguments)} arguments", node)
        arguments = self._read_all(nodes)
        if node.function in _PATTERNS:
            self._check_pattern(node.function, arguments[1], nodes[1])
        if node.function == "sqlLike":
            self._pattern(node.function, arguments[1], nodes[1])
        return construct.called(node.function, arguments)

    def _pattern(self, function: str, pattern: Expression, node: Syntax) -> str:
        if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
            raise self.parsed.fault(f"the pattern of {function}() must be a string literal", node)
        return pattern.value

    def _check_pattern(self, function: str, argument: Expression, node: Syntax) -> None:
        pattern = self._pattern(function, argument, node)
        try:
            size = compile_pattern(_PATTERNS[function](pattern)).programsize
        except InvalidPattern as error:
            raise self.parsed.fault(f"not a regular expression of RE2: {error}", node) from None
        if size > self.context.limits.pattern:
            problem = f"a pattern of size {size} exceeds the limit `pattern` of {self.context.limits.pattern}"
            raise self.parsed.fault(problem, node, limit="pattern")

    def _read_operator(self, node: Invocation) -> Expression:  # noqa: PLR0911 -- one per operator
        function, arguments = node.function, node.arguments
        match function, self._read_all(arguments):
            case "_&&_", (left, right):
                return construct.conjoined(left, right)
            case "_||_", (left, right):
                return construct.disjoined(left, right)
            case "!_", (part,):
                return construct.negated(part)
            case "-_", operands:
                return Operation("-", operands)
            case "_?_:_", (decision, then, otherwise):
                return Operation("?:", (construct.condition(decision), then, otherwise))
            case "_[_]", (operand, index):
                return construct.indexed(operand, index)
            case "@in", (value, holder):
                return construct.contained(value, holder)
            case _, (left, right) if function in _COMPARISONS:
                return construct.compared(left, _COMPARISONS[function], right)
            case _, operands if function in _ARITHMETIC:
                return Operation(_ARITHMETIC[function], operands)
            case _:
                raise self.parsed.fault(f"undeclared reference to '{function}'", node)

    def _read_map(self, node: StructSyntax) -> Expression:
        if node.name:
            raise self.parsed.fault(f"messages such as {node.name} are not supported in filters", node)
        keys = self._read_all([key for key, _ in node.entries])
        seen: set[Expression] = set()
        for key, (syntax, _) in zip(keys, node.entries, strict=True):
            if isinstance(key, Literal) and key in seen:
                raise self.parsed.fault("the key is repeated in the map", syntax)
            seen.add(key)
        return MapOf(keys, self._read_all([value for _, value in node.entries]))

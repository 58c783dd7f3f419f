"""The canonical CEL text of a tree, which defines what the filter means.

Google's evaluator gives the same answer on it as the reference evaluator, with an error for unknown. Parsing the text
gives a tree with the same text.
"""

from __future__ import annotations

import math
import re
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from headrace.filters.ir.atoms import STRING_TESTS, Comparison, Has, Includes, OneOf
from headrace.filters.ir.expression import And, Constant, Not, Or
from headrace.filters.ir.literals import Literal, Uint
from headrace.filters.ir.operands import CE, Path, Text
from headrace.filters.ir.terms import Call, HasKey, ListOf, Local, Macro, MapOf, Operation, Select, TypeName
from headrace.filters.values.functions import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.literals import Scalar
    from headrace.filters.ir.operands import Operand

_SELECTOR = re.compile(r"(?!(?:true|false|null|in)\Z)[A-Za-z_][A-Za-z0-9_]*\Z")
_QUOTED_SELECTOR = re.compile(r"[A-Za-z0-9_./ -]+\Z")
_ESCAPED = re.compile(r'[\x00-\x1f\x7f"\\]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_INFINITY = "1e400"


class Level(IntEnum):
    """How tightly a text binds. A text that binds more loosely than its context requires gets brackets."""

    CONDITIONAL = 0
    OR = 1
    AND = 2
    RELATION = 3
    SUM = 4
    PRODUCT = 5
    UNARY = 6
    MEMBER = 7


OPERATORS = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), Level.RELATION),
    **dict.fromkeys("+-", Level.SUM),
    **dict.fromkeys("*/%", Level.PRODUCT),
}


def write_cel(expression: Expression) -> str:
    """Return the text, with brackets only where CEL's precedence requires them."""
    return _WRITERS[type(expression)](expression)


def write_operand(operand: Operand) -> str:
    """Return `ce.subject`, `ce["in"]` where CEL's grammar forbids the selector, or `string(ce.count)`."""
    if isinstance(operand, Text):
        return f"string({write_operand(operand.path)})"
    variable, *keys = operand.steps
    return variable + "".join(map(_write_selector, keys))


def write_literal(value: Scalar) -> str:  # noqa: PLR0911 -- one per type
    """Return the CEL literal of a constant."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{_ESCAPED.sub(_escape, value)}"'
        case bytes():
            return f'b"{"".join(map(_write_byte, value))}"'
        case float() if math.isnan(value):
            return 'double("nan")'
        case float() if math.isinf(value):
            return _INFINITY if value > 0 else f"-{_INFINITY}"
        case Uint():
            return f"{int(value)}u"
        case _:
            return repr(value)


def _write_at(level: Level, expression: Expression) -> str:
    text = write_cel(expression)
    return f"({text})" if _level_of(expression) < level else text


def _level_of(expression: Expression) -> Level:  # noqa: PLR0911 -- one per node
    match expression:
        case Or():
            return Level.OR
        case And():
            return Level.AND
        case Comparison() | OneOf() | Includes():
            return Level.RELATION
        case Not():
            return Level.UNARY
        case Literal(value) if isinstance(value, int | float) and not isinstance(value, bool):
            # `1.size()` would be parsed as a double, and `-(1)` is another tree than `-1`.
            return Level.UNARY
        case Has(path):
            return Level.MEMBER if _is_selected(path) else Level.RELATION
        case Operation(operator, operands):
            return _level_of_operation(operator, len(operands))
        case _:
            return Level.MEMBER


def _level_of_operation(operator: str, operands: int) -> Level:
    if operands == 1:
        return Level.UNARY
    if operator == "?:":
        return Level.CONDITIONAL
    return OPERATORS.get(operator, Level.MEMBER)


def _write_not(expression: Not) -> str:
    part = expression.part
    return f"!{write_cel(part) if isinstance(part, Not) else _write_at(Level.MEMBER, part)}"


def _write_has(atom: Has) -> str:
    path, key = atom.path, atom.path.steps[-1]
    holder = write_operand(path.parent)
    if path.parent == CE:
        return f"has({write_operand(path)})" if _SELECTOR.match(key) else f"{write_literal(key)} in {holder}"
    if _is_selected(path):
        return f"has({holder}{_write_field(key)})"
    # `in` also tests membership in lists, for which presence is unknown: so admit only a map.
    return f"{write_literal(key)} in (type({holder}) == map ? {holder} : {{}}[0])"


def _is_selected(path: Path) -> bool:
    pattern = _SELECTOR if path.parent == CE else _QUOTED_SELECTOR
    return pattern.match(path.steps[-1]) is not None


def _write_operation(term: Operation) -> str:
    operator, operands = term.operator, term.operands
    if len(operands) == 1:
        return f"-{_write_at(Level.MEMBER, operands[0])}"
    if operator == "?:":
        levels = (Level.OR, Level.OR, Level.CONDITIONAL)
        return "{} ? {} : {}".format(*map(_write_at, levels, operands))
    left, right = operands
    if operator == "[]":
        return f"{_write_at(Level.MEMBER, left)}[{write_cel(right)}]"
    level = OPERATORS[operator]
    return f"{_write_at(level, left)} {operator} {_write_at(Level(level + 1), right)}"


def _write_call(term: Call) -> str:
    if FUNCTIONS[term.function].member:
        target, *arguments = term.arguments
        return f"{_write_at(Level.MEMBER, target)}.{term.function}({_list(arguments)})"
    return f"{term.function}({_list(term.arguments)})"


def _write_macro(term: Macro) -> str:
    target = _write_at(Level.MEMBER, term.range)
    return f"{target}.{term.name}({term.variable}, {_list(term.bodies)})"


def _list(expressions: Iterable[Expression]) -> str:
    return ", ".join(map(write_cel, expressions))


def _write_string_test(atom: Any) -> str:
    return f"{write_operand(atom.operand)}.{atom.function}({write_literal(atom.argument)})"


def _write_selector(key: str) -> str:
    return f".{key}" if _SELECTOR.match(key) else f"[{write_literal(key)}]"


def _write_field(key: str) -> str:
    return f".{key}" if _SELECTOR.match(key) else f".`{key}`"


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return _SHORT_ESCAPES.get(character, f"\\u{ord(character):04x}")


def _write_byte(byte: int) -> str:
    character = chr(byte)
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    return character if " " <= character <= "~" else f"\\x{byte:02x}"


_WRITERS: Mapping[type, Callable[[Any], str]] = {
    Constant: lambda node: write_literal(node.value),
    Literal: lambda node: write_literal(node.value),
    Not: _write_not,
    And: lambda node: " && ".join(_write_at(Level.RELATION, part) for part in node.parts),
    Or: lambda node: " || ".join(_write_at(Level.AND, part) for part in node.parts),
    Path: write_operand,
    Text: write_operand,
    Has: _write_has,
    Comparison: lambda node: (
        f"{write_operand(node.operand)} {node.operator.value} {write_literal(node.literal.value)}"
    ),
    OneOf: lambda node: f"{write_operand(node.operand)} in [{_list(node.literals)}]",
    Includes: lambda node: f"{write_literal(node.literal.value)} in {write_operand(node.operand)}",
    **dict.fromkeys(STRING_TESTS, _write_string_test),
    Local: lambda node: node.name,
    TypeName: lambda node: node.name,
    Select: lambda node: _write_at(Level.MEMBER, node.operand) + _write_selector(node.key),
    HasKey: lambda node: f"has({_write_at(Level.MEMBER, node.operand)}{_write_field(node.key)})",
    ListOf: lambda node: f"[{_list(node.elements)}]",
    MapOf: lambda node: (
        "{"
        + ", ".join(
            f"{write_cel(key)}: {write_cel(value)}" for key, value in zip(node.keys, node.values, strict=True)
        )
        + "}"
    ),
    Operation: _write_operation,
    Call: _write_call,
    Macro: _write_macro,
}

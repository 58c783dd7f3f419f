"""The canonical CEL text of a tree, which defines what the filter means.

Google's evaluator gives the same answer on it as the reference evaluator, with an error for unknown. Parsing the text
gives a tree with the same text.
"""

from __future__ import annotations

import math
import re
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from headrace.filters.ir.expression import Not
from headrace.filters.ir.literals import Uint
from headrace.filters.ir.operands import CE, Text
from headrace.filters.ir.visitor import Visitor
from headrace.filters.values.functions import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.filters.ir.atoms import Has
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.literals import Scalar
    from headrace.filters.ir.operands import Operand
    from headrace.filters.ir.terms import Call, Macro, MapOf, Operation

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
    return _WRITERS.visit(expression).text


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


class _Text(NamedTuple):
    """A text, and how tightly it binds."""

    text: str
    level: Level = Level.MEMBER


def _write_at(level: Level, expression: Expression) -> str:
    written = _WRITERS.visit(expression)
    return f"({written.text})" if written.level < level else written.text


def _write_scalar(value: Scalar) -> _Text:
    # `1.size()` would be parsed as a double, and `-(1)` is another tree than `-1`.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return _Text(write_literal(value), Level.UNARY if is_number else Level.MEMBER)


def _write_not(expression: Not) -> _Text:
    part = expression.part
    return _Text(
        f"!{write_cel(part) if isinstance(part, Not) else _write_at(Level.MEMBER, part)}", Level.UNARY
    )


def _write_has(atom: Has) -> _Text:
    path, key = atom.path, atom.path.steps[-1]
    holder = write_operand(path.parent)
    if path.parent == CE and _SELECTOR.match(key):
        return _Text(f"has({write_operand(path)})")
    if path.parent == CE:
        return _Text(f"{write_literal(key)} in {holder}", Level.RELATION)
    if _QUOTED_SELECTOR.match(key):
        return _Text(f"has({holder}{_write_field(key)})")
    # `in` also tests membership in lists, for which presence is unknown: so admit only a map.
    return _Text(f"{write_literal(key)} in (type({holder}) == map ? {holder} : {{}}[0])", Level.RELATION)


def _write_operation(term: Operation) -> _Text:
    operator, operands = term.operator, term.operands
    if len(operands) == 1:
        return _Text(f"-{_write_at(Level.MEMBER, operands[0])}", Level.UNARY)
    if operator == "?:":
        levels = (Level.OR, Level.OR, Level.CONDITIONAL)
        return _Text("{} ? {} : {}".format(*map(_write_at, levels, operands)), Level.CONDITIONAL)
    left, right = operands
    if operator == "[]":
        return _Text(f"{_write_at(Level.MEMBER, left)}[{write_cel(right)}]")
    level = OPERATORS[operator]
    return _Text(f"{_write_at(level, left)} {operator} {_write_at(Level(level + 1), right)}", level)


def _write_call(term: Call) -> _Text:
    if FUNCTIONS[term.function].member:
        target, *arguments = term.arguments
        return _Text(f"{_write_at(Level.MEMBER, target)}.{term.function}({_list(arguments)})")
    return _Text(f"{term.function}({_list(term.arguments)})")


def _write_macro(term: Macro) -> _Text:
    target = _write_at(Level.MEMBER, term.range)
    return _Text(f"{target}.{term.name}({term.variable}, {_list(term.bodies)})")


def _write_map(term: MapOf) -> _Text:
    entries = zip(map(write_cel, term.keys), map(write_cel, term.values), strict=True)
    return _Text("{" + ", ".join(f"{key}: {value}" for key, value in entries) + "}")


def _joined(symbol: str, level: Level, parts: tuple[Expression, ...]) -> _Text:
    return _Text(f" {symbol} ".join(_write_at(Level(level + 1), part) for part in parts), level)


def _relation(left: str, symbol: str, right: str) -> _Text:
    return _Text(f"{left} {symbol} {right}", Level.RELATION)


def _list(expressions: Iterable[Expression]) -> str:
    return ", ".join(map(write_cel, expressions))


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


_WRITERS: Visitor[[], _Text] = Visitor(
    constant=lambda node: _write_scalar(node.value),
    negation=_write_not,
    conjunction=lambda node: _joined("&&", Level.AND, node.parts),
    disjunction=lambda node: _joined("||", Level.OR, node.parts),
    literal=lambda node: _write_scalar(node.value),
    path=lambda node: _Text(write_operand(node)),
    text=lambda node: _Text(write_operand(node)),
    has=_write_has,
    comparison=lambda node: _relation(
        write_operand(node.operand), node.operator.value, write_literal(node.literal.value)
    ),
    one_of=lambda node: _relation(write_operand(node.operand), "in", f"[{_list(node.literals)}]"),
    includes=lambda node: _relation(write_literal(node.literal.value), "in", write_operand(node.operand)),
    string_test=lambda node: _Text(
        f"{write_operand(node.operand)}.{node.function}({write_literal(node.argument)})"
    ),
    local=lambda node: _Text(node.name),
    type_name=lambda node: _Text(node.name),
    select=lambda node: _Text(_write_at(Level.MEMBER, node.operand) + _write_selector(node.key)),
    has_key=lambda node: _Text(f"has({_write_at(Level.MEMBER, node.operand)}{_write_field(node.key)})"),
    list_of=lambda node: _Text(f"[{_list(node.elements)}]"),
    map_of=_write_map,
    operation=_write_operation,
    call=_write_call,
    macro=_write_macro,
)

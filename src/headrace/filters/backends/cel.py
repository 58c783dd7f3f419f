"""The canonical CEL text of a tree: the definition of what the filter means.

Google's evaluator gives the same answer on it as the reference evaluator, an error standing for unknown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, assert_never

from headrace.filters.ir.atoms import Comparison, EndsWith, Has, StartsWith
from headrace.filters.ir.expression import And, Constant, Not, Or
from headrace.filters.ir.operands import Path, Text

if TYPE_CHECKING:
    from headrace.filters.ir.atoms import Atom
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.literals import Scalar
    from headrace.filters.ir.operands import Operand

_SELECTOR = re.compile(r"(?!(?:true|false|null|in)\Z)[A-Za-z_][A-Za-z0-9_]*\Z")
_ESCAPED = re.compile(r'[\x00-\x1f\x7f"\\]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def write_cel(expression: Expression) -> str:
    """Return the text, with brackets only where CEL's precedence needs them."""
    match expression:
        case Constant(value):
            return write_literal(value)
        case Not(part):
            return f"!{_write_part(part, bracket=_binds_looser_than_not(part))}"
        case And(parts):
            return " && ".join(_write_part(part, bracket=isinstance(part, And | Or)) for part in parts)
        case Or(parts):
            return " || ".join(_write_part(part, bracket=isinstance(part, Or)) for part in parts)
        case _:
            return _write_atom(expression)


def _write_atom(atom: Atom) -> str:
    match atom:
        case Has(path):
            return _write_presence(path)
        case Comparison(operand, how, literal):
            return f"{write_operand(operand)} {how.value} {write_literal(literal.value)}"
        case StartsWith(operand, prefix):
            return f"{write_operand(operand)}.startsWith({write_literal(prefix)})"
        case EndsWith(operand, suffix):
            return f"{write_operand(operand)}.endsWith({write_literal(suffix)})"
        case _:
            assert_never(atom)


def write_operand(operand: Operand) -> str:
    """Return `ce.subject`, `ce["in"]` where CEL's grammar forbids the selector, or `string(ce.count)`."""
    match operand:
        case Path((variable, *keys)):
            return variable + "".join(
                f".{key}" if _SELECTOR.match(key) else f"[{write_literal(key)}]" for key in keys
            )
        case Text(path):
            return f"string({write_operand(path)})"
        case _:
            raise ValueError("a path starts with a variable")


def write_literal(value: Scalar) -> str:
    """Return a constant as CEL writes it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{_ESCAPED.sub(_escape, value)}"'
        case _:
            return repr(value)


def _write_part(part: Expression, *, bracket: bool) -> str:
    return f"({write_cel(part)})" if bracket else write_cel(part)


def _binds_looser_than_not(part: Expression) -> bool:
    # A presence test may be written as `"in" in ce`, and `!"in" in ce` would negate the string.
    return isinstance(part, And | Or | Comparison) or (
        isinstance(part, Has) and not _SELECTOR.match(part.path.steps[-1])
    )


def _write_presence(path: Path) -> str:
    key = path.steps[-1]
    if _SELECTOR.match(key):
        return f"has({write_operand(path)})"
    return f"{write_literal(key)} in {write_operand(path.parent)}"


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return _SHORT_ESCAPES.get(character, f"\\u{ord(character):04x}")

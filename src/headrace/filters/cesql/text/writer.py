"""Write the canonical text of a tree. Parsing it gives the same tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, assert_never

from headrace.filters.cesql.syntax import (
    Arithmetic,
    Attribute,
    Boolean,
    Call,
    Comparison,
    Exists,
    In,
    Integer,
    Like,
    Logic,
    Minus,
    Not,
    String,
)
from headrace.filters.cesql.text.parser import BINDING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.filters.cesql.syntax import Node

_TIGHTEST = 9
_PREFIX = 8
_SUFFIX = 7

# A backslash and the next character belong together, so no enclosing quote may follow an odd number of backslashes.
_SPOILS = {quote: re.compile(rf"(?<!\\)(?:\\\\)*\\(?:{quote}|\Z)") for quote in "'\""}


def write_cesql(node: Node) -> str:
    """Return the text, with keywords in upper case and brackets only where they are needed."""
    match node:
        case String(value):
            return write_string(value)
        case Integer(value) | Boolean(value):
            return str(value).upper()
        case Attribute(name):
            return name
        case Exists(name):
            return f"EXISTS {name}"
        case Call(name, arguments):
            return f"{name}({_write_list(arguments)})"
        case _:
            return _write_operation(node)


def _write_operation(node: Not | Minus | Like | In | Arithmetic | Comparison | Logic) -> str:
    match node:
        case Not(operand):
            return f"NOT {_write_part(operand, _PREFIX)}"
        case Minus(operand):
            # A minus right before digits would be parsed as their sign.
            return f"- {_write_part(operand, _PREFIX)}"
        case Like(operand, pattern):
            return f"{_write_part(operand, _SUFFIX)} LIKE {write_string(pattern)}"
        case In(operand, elements):
            return f"{_write_part(operand, _SUFFIX)} IN ({_write_list(elements)})"
        case Arithmetic(left, operator, right) | Comparison(left, operator, right):
            level = BINDING[operator]
            return f"{_write_part(left, level)} {operator} {_write_part(right, level + 1)}"
        case Logic(operator, (first, *others)):
            level = BINDING[operator]
            parts = [_write_part(first, level), *(_write_part(other, level + 1) for other in others)]
            return f" {operator} ".join(parts)
        case Logic():
            raise ValueError("AND, OR and XOR have operands")
        case _:
            assert_never(node)


def write_string(value: str) -> str:
    """Return the literal, in single quotes if possible; raise `ValueError` for the few texts that have none."""
    for quote, spoils in _SPOILS.items():
        if not spoils.search(value):
            return quote + value.replace(quote, "\\" + quote) + quote
    raise ValueError(f"CESQL has no literal for {value!r}")


def _write_part(node: Node, loosest: int) -> str:
    text = write_cesql(node)
    return text if _level(node) >= loosest else f"({text})"


def _write_list(nodes: Sequence[Node]) -> str:
    return ", ".join(write_cesql(node) for node in nodes)


def _level(node: Node) -> int:
    match node:
        case Logic() | Comparison() | Arithmetic():
            return BINDING[node.operator]
        case Like() | In():
            return _SUFFIX
        case Not() | Minus():
            return _PREFIX
        case _:
            return _TIGHTEST

"""The syntax tree of an expression, decoded from the messages cel.expr.ParsedExpr and cel.expr.Expr."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from headrace.filters.ir.literals import Uint
from headrace.filters.syntax.wire import double, fields, signed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.filters.ir.literals import Scalar


@dataclass(slots=True)
class Const:
    """A literal."""

    id: int
    value: Scalar


@dataclass(slots=True)
class Ident:
    """A name."""

    id: int
    name: str


@dataclass(slots=True)
class Selection:
    """`operand.field`."""

    id: int
    operand: Syntax
    field: str


@dataclass(slots=True)
class Invocation:
    """A function, member function, operator (`_+_`) or macro; `target` precedes the dot."""

    id: int
    target: Syntax | None
    function: str
    arguments: list[Syntax]


@dataclass(slots=True)
class ListSyntax:
    """`[a, b]`."""

    id: int
    elements: list[Syntax]


@dataclass(slots=True)
class StructSyntax:
    """`{key: value}`, or a message if it has a name."""

    id: int
    name: str
    entries: list[tuple[Syntax, Syntax]]


@dataclass(slots=True)
class Unsupported:
    """Syntax that filters don't support."""

    id: int


Syntax: TypeAlias = Const | Ident | Selection | Invocation | ListSyntax | StructSyntax | Unsupported


def read_tree(serialized: bytes) -> Syntax:
    """Return the tree in an Any that holds a ParsedExpr."""
    return _read(_last(_last(serialized, 2), 2))


def read_positions(serialized: bytes) -> dict[int, int]:
    """Return the position of each node in the text, by the id of the node."""
    source_info = _last(_last(serialized, 2), 3)
    pairs = (dict(fields(entry)) for number, entry in _messages(source_info) if number == 4)
    return {int(pair.get(1, 0)): int(pair.get(2, 0)) for pair in pairs}


def _read(message: bytes) -> Syntax:
    node, number, body = 0, 0, b""
    for field, value in fields(message):
        if field == 2 and isinstance(value, int):
            node = value
        elif isinstance(value, bytes):
            number, body = field, value
    read = _READERS.get(number)
    return Unsupported(node) if read is None else read(node, body)


def _read_const(node: int, body: bytes) -> Syntax:
    for number, value in fields(body):
        return Const(node, _CONSTANTS[number](value)) if number in _CONSTANTS else Unsupported(node)
    return Const(node, None)


def _read_ident(node: int, body: bytes) -> Syntax:
    return Ident(node, _last(body, 1).decode())


def _read_selection(node: int, body: bytes) -> Syntax:
    return Selection(node, _read(_last(body, 1)), _last(body, 2).decode())


def _read_invocation(node: int, body: bytes) -> Syntax:
    target, function, arguments = None, "", []
    for number, value in _messages(body):
        if number == 1:
            target = _read(value)
        elif number == 2:
            function = value.decode()
        elif number == 3:
            arguments.append(_read(value))
    return Invocation(node, target, function, arguments)


def _read_list(node: int, body: bytes) -> Syntax:
    return ListSyntax(node, [_read(value) for number, value in _messages(body) if number == 1])


def _read_struct(node: int, body: bytes) -> Syntax:
    name, entries = "", []
    for number, value in _messages(body):
        if number == 1:
            name = value.decode()
        elif number == 2:
            entries.append((_read(_last(value, 3)), _read(_last(value, 4))))
    return StructSyntax(node, name, entries)


def _messages(body: bytes) -> list[tuple[int, bytes]]:
    return [(number, value) for number, value in fields(body) if isinstance(value, bytes)]


def _last(message: bytes, wanted: int) -> bytes:
    found = b""
    for number, value in fields(message):
        if number == wanted and isinstance(value, bytes):
            found = value
    return found


_READERS: Mapping[int, Callable[[int, bytes], Syntax]] = {
    3: _read_const,
    4: _read_ident,
    5: _read_selection,
    6: _read_invocation,
    7: _read_list,
    8: _read_struct,
}
_CONSTANTS: Mapping[int, Callable[[Any], Scalar]] = {
    1: lambda _: None,
    2: bool,
    3: signed,
    4: Uint,
    5: double,
    6: lambda value: value.decode(),
    7: bytes,
}

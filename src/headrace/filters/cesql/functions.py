"""The standard functions of CESQL, overloaded by the number of arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import FilterError
from headrace.filters.cesql.casts import INT32
from headrace.filters.cesql.faults import CesqlFault, ErrorKind, EvaluationError
from headrace.filters.cesql.syntax import Call, children

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.filters.cesql.casts import TypeName
    from headrace.filters.cesql.faults import Value
    from headrace.filters.cesql.syntax import Node

# Unicode's White_Space. Python's `strip` also takes the separators U+001C to U+001F, which are control characters.
_WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


@dataclass(frozen=True, slots=True)
class CesqlFunction:
    """A function with the types that its arguments are cast to; further ones of the type `more` may follow.

    `body` takes the cast arguments. On an error it raises `Failure`, with a value to return as well.
    """

    body: Callable[..., Value]
    returns: TypeName
    takes: tuple[TypeName, ...]
    more: TypeName | None = None


class Failure(Exception):
    """An error of a function, without the position of the call."""

    def __init__(self, kind: ErrorKind, problem: str, value: Value) -> None:
        super().__init__(problem)
        self.kind = kind
        self.problem = problem
        self.value = value

    def at(self, call: Call) -> CesqlFault:
        """Return the fault of the call."""
        return CesqlFault(EvaluationError(self.kind, self.problem, call.position), call, self.value)


def find_function(name: str, arity: int) -> CesqlFunction | None:
    """Return the function of that name that takes so many arguments."""
    for function in FUNCTIONS.get(name, ()):
        fixed = len(function.takes)
        if arity == fixed or (arity > fixed and function.more is not None):
            return function
    return None


def require_functions(node: Node, text: str) -> None:
    """Refuse calls of unknown functions, with their position in the text."""
    if isinstance(node, Call) and find_function(node.name, len(node.arguments)) is None:
        raise FilterError(
            _missing(node.name, len(node.arguments)), source=text, position=node.position, value=node.name
        )
    for child in children(node):
        require_functions(child, text)


def missing_function(call: Call) -> CesqlFault:
    """Return the fault of a call of an unknown function."""
    problem = _missing(call.name, len(call.arguments))
    return CesqlFault(EvaluationError(ErrorKind.MISSING_FUNCTION, problem, call.position))


def _missing(name: str, arity: int) -> str:
    if name in FUNCTIONS:
        return f"{name} doesn't take {arity} argument{'' if arity == 1 else 's'}"
    return f"there is no function {name}; known are {', '.join(FUNCTIONS)}"


def _trim(text: str) -> str:
    return text.strip(_WHITE_SPACE)


def _join(delimiter: str, *texts: str) -> str:
    return delimiter.join(texts)


def _concatenate(*texts: str) -> str:
    return "".join(texts)


def _left(text: str, count: int) -> str:
    if count < 0:
        raise Failure(ErrorKind.FUNCTION_EVALUATION, f"LEFT of {count} characters", text)
    return text[:count]


def _right(text: str, count: int) -> str:
    if count < 0:
        raise Failure(ErrorKind.FUNCTION_EVALUATION, f"RIGHT of {count} characters", text)
    return text[max(len(text) - count, 0) :]


def _substring(text: str, start: int, length: int | None = None) -> str:
    if abs(start) > len(text) or (length is not None and length < 0):
        asked = f"from {start}" if length is None else f"from {start} of length {length}"
        raise Failure(ErrorKind.FUNCTION_EVALUATION, f"SUBSTRING {asked} in {len(text)} characters", "")
    if start == 0:
        return ""
    first = start - 1 if start > 0 else len(text) + start
    return text[first:] if length is None else text[first : first + length]


def _absolute(number: int) -> int:
    if abs(number) not in INT32:
        raise Failure(ErrorKind.MATH, f"ABS of {number} has more than 32 bits", INT32.stop - 1)
    return abs(number)


def _same(value: Value) -> Value:
    return value


FUNCTIONS: Mapping[str, tuple[CesqlFunction, ...]] = {
    "LENGTH": (CesqlFunction(len, "Integer", ("String",)),),
    "CONCAT": (CesqlFunction(_concatenate, "String", (), more="String"),),
    "CONCAT_WS": (CesqlFunction(_join, "String", ("String",), more="String"),),
    "LOWER": (CesqlFunction(str.lower, "String", ("String",)),),
    "UPPER": (CesqlFunction(str.upper, "String", ("String",)),),
    "TRIM": (CesqlFunction(_trim, "String", ("String",)),),
    "LEFT": (CesqlFunction(_left, "String", ("String", "Integer")),),
    "RIGHT": (CesqlFunction(_right, "String", ("String", "Integer")),),
    "SUBSTRING": (
        CesqlFunction(_substring, "String", ("String", "Integer")),
        CesqlFunction(_substring, "String", ("String", "Integer", "Integer")),
    ),
    "ABS": (CesqlFunction(_absolute, "Integer", ("Integer",)),),
    "INT": (CesqlFunction(_same, "Integer", ("Integer",)),),
    "BOOL": (CesqlFunction(_same, "Boolean", ("Boolean",)),),
    "STRING": (CesqlFunction(_same, "String", ("String",)),),
}

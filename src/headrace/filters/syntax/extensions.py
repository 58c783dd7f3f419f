"""The functions of filters that CEL's standard library lacks, declared for Google's checker and evaluator."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from cel_expr_python import cel

from headrace.filters.values.cesql.errors import CesqlError
from headrace.filters.values.functions import FUNCTIONS
from headrace.filters.values.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headrace.filters.values.function import Function

_TYPES: Mapping[Kind, cel.Type] = {
    Kind.NULL: cel.Type.NULL,
    Kind.BOOL: cel.Type.BOOL,
    Kind.INT: cel.Type.INT,
    Kind.DOUBLE: cel.Type.DOUBLE,
    Kind.STRING: cel.Type.STRING,
    Kind.LIST: cel.Type.List(cel.Type.DYN),
    Kind.MAP: cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
}


def declared() -> list[cel.FunctionDecl]:
    """Return the declarations for the checker, to which all types of an argument are one."""
    return _declarations(lambda kinds: [_TYPES[kinds[0]] if len(kinds) == 1 else cel.Type.DYN])


def evaluated() -> list[cel.FunctionDecl]:
    """Return the declarations for the evaluator, which wants an overload for each combination of types."""
    return _declarations(lambda kinds: [_TYPES[kind] for kind in kinds])


def _declarations(types_of: Callable[[tuple[Kind, ...]], list[cel.Type]]) -> list[cel.FunctionDecl]:
    return [
        cel.FunctionDecl(name, list(_overloads(name, function, list(map(types_of, function.takes)))))
        for name, function in FUNCTIONS.items()
        if function.takes
    ]


def _overloads(name: str, function: Function, takes: list[list[cel.Type]]) -> Iterator[cel.Overload]:
    implementation = _plain(function.apply)
    returned = cel.Type.DYN if function.returns is None else _TYPES[function.returns]
    for arity in function.arity:
        for number, types in enumerate(product(*takes[:arity])):
            identifier = f"{name}_{arity}_{number}"
            yield cel.Overload(
                identifier, returned, list(types), is_member=function.member, impl=implementation
            )


def _plain(apply: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        value = apply(*arguments)
        return None if isinstance(value, CesqlError) else value

    return call

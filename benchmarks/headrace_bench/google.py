"""Google's evaluator of CEL, as the benchmarks use it: with `match`, and with values that its binding takes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from cel_expr_python import cel

from headrace.filters.values.kinds import INT64
from headrace.filters.values.patterns import fits


@cache
def environment() -> Any:
    """Return the environment that texts are compiled in and events are bound in."""
    kinds = cel.Type
    glob = cel.Overload("glob", kinds.BOOL, [kinds.STRING, kinds.STRING], is_member=True, impl=fits)
    return cel.NewEnv(functions=[cel.FunctionDecl("match", [glob])])


def bound(variables: Mapping[str, Any]) -> Any:
    """Bind an event's variables, once for all expressions."""
    return environment().Activation(data=_plain(variables))


def compiled(text: str) -> Any:
    """Return a program. It is unchecked: the texts of other dialects need not pass the checker."""
    return environment().compile(text, disable_check=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return float(value) if isinstance(value, int) and value not in INT64 else value

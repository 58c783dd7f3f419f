"""Google's evaluator of CEL, as the benchmarks use it: with our functions, and with values that its binding takes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from cel_expr_python import cel

from headrace.filters.syntax.extensions import evaluated
from headrace.filters.values.kinds import INT64


@cache
def environment() -> Any:
    """Return the environment that texts are compiled in and events are bound in."""
    return cel.NewEnv(functions=evaluated())


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

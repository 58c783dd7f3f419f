"""Google's evaluator on the canonical text: the definition of what a filter means."""

import math
from collections.abc import Mapping
from functools import cache, lru_cache

from cel_expr_python import cel

from headrace.filters.syntax.extensions import evaluated
from headrace.filters.truth import UNKNOWN, Truth

INT64 = range(-(2**63), 2**63)


class GaveUp(Exception):
    """The evaluator has no answer: its iteration budget is spent, or a map has a key twice."""


def evaluate(text: str, variables: Mapping[str, object]) -> Truth:
    """An error, and a value that isn't boolean, is unknown."""
    try:
        result = _program(text).eval(data={name: _plain(value) for name, value in variables.items()})
    except RuntimeError as error:
        if "budget" in str(error) or "duplicate key" in str(error):
            raise GaveUp from None
        raise
    return bool(result.value()) if result.type() == cel.Type.BOOL else UNKNOWN


@cache
def _environment():
    return cel.NewEnv(functions=evaluated())


@lru_cache(256)
def _program(text):
    # Unchecked and without a container: the trees of other dialects need not pass the checker.
    return _environment().compile(text, disable_check=True)


def _plain(value):
    """Only what the binding takes: integers beyond 64 bits are doubles."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, int) and not isinstance(value, bool) and value not in INT64:
        try:
            return float(value)
        except OverflowError:
            return math.copysign(math.inf, value)
    return value

"""What the index can't decide, decided by the reference evaluator: only for candidates, and once per event and rest."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.filters.backends.reference import evaluate
from headrace.filters.truth import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

    from headrace.filters.ir.expression import Expression
    from headrace.filters.truth import Truth
    from headrace.filters.variables import Variables

    Numbers = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Settled:
    """For pairs of row and rest: whether the rest holds there; and by pair's number, what is wrong with its cost."""

    holds: npt.NDArray[np.bool_]
    overruns: dict[int, str]
    evaluations: int
    errors: int
    slow: int
    seconds: float


def judged(expression: Expression, variables: Variables, overruns: list[str]) -> Truth:
    """Evaluate, whatever the evaluator does: a mistake in it takes an event from one filter, not from everybody's."""
    try:
        return evaluate(expression, variables, overruns)
    except MemoryError:
        raise  # no filter's fault
    except Exception as error:  # noqa: BLE001  told of like a filter that costs too much
        overruns.append(f"it can't be evaluated: {error!r}")
        return UNKNOWN


def settle(
    variables_of: Callable[[Numbers], Iterable[Variables]],
    rows: Numbers,
    rests: Numbers,
    expressions: Sequence[Expression],
    timeout: float,
) -> Settled:
    """Evaluate pairs of row and rest.

    A clause over its budget is unknown, so the rest doesn't hold: the same on every machine. What only takes longer
    than the timeout, in seconds, is told of, and its answer stands: if the clock decided, a pause could lose an event.
    """
    began = time.perf_counter()
    pairs, which = np.unique(rows << 32 | rests, return_inverse=True)
    asked, first = np.unique(pairs >> 32, return_index=True)
    holds = np.zeros(len(pairs), np.bool_)
    reasons: dict[int, str] = {}
    errors = slow = 0
    ends = [*first[1:].tolist(), len(pairs)]
    numbers = (pairs & 0xFFFFFFFF).tolist()
    for variables, start, end in zip(variables_of(asked), first.tolist(), ends, strict=True):
        for slot in range(start, end):
            overruns: list[str] = []
            started = time.perf_counter()
            truth = judged(expressions[numbers[slot]], variables, overruns)
            taken = time.perf_counter() - started
            holds[slot] = truth is True
            errors += truth is UNKNOWN
            slow += taken > timeout
            if overruns and truth is UNKNOWN:
                reasons[slot] = overruns[0]
            elif taken > timeout:
                reasons[slot] = _too_slow(taken, timeout)
    told = (
        {each: reasons[slot] for each, slot in enumerate(which.tolist()) if slot in reasons}
        if reasons
        else {}
    )
    return Settled(holds[which], told, len(pairs), errors, slow, time.perf_counter() - began)


def _too_slow(taken: float, timeout: float) -> str:
    return f"it took {taken * 1000:.0f} ms, more than {timeout * 1000:.0f} ms"

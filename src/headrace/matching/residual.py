"""What the index can't decide, decided by the reference evaluator: only for candidates, and once per event and rest."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.filters.backends.reference import evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from headrace.filters.ir.expression import Expression
    from headrace.filters.variables import Variables
    from headrace.matching.runs import Run

    Numbers = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Settled:
    """For pairs of row and rest: whether the rest holds there; and by pair's number, what is wrong with its cost."""

    holds: npt.NDArray[np.bool_]
    overruns: dict[int, str]
    evaluations: int


def settle(
    run: Run, rows: Numbers, rests: Numbers, expressions: Sequence[Expression], timeout: float
) -> Settled:
    """Evaluate pairs of row and rest.

    A clause over its budget is unknown, so the rest doesn't hold: the same on every machine. What only takes longer than
    the timeout, in seconds, is told of, and its answer stands: if the clock decided, an event would be lost to a pause.
    """
    pairs, which = np.unique(rows << 32 | rests, return_inverse=True)
    asked, first = np.unique(pairs >> 32, return_index=True)
    holds = np.zeros(len(pairs), np.bool_)
    reasons: dict[int, str] = {}
    ends = [*first[1:].tolist(), len(pairs)]
    numbers = (pairs & 0xFFFFFFFF).tolist()
    for variables, start, end in zip(run.variables(asked), first.tolist(), ends, strict=True):
        for place in range(start, end):
            holds[place], reason = _holds(expressions[numbers[place]], variables, timeout)
            if reason is not None:
                reasons[place] = reason
    overruns = {}
    if reasons:
        overruns = {each: reasons[place] for each, place in enumerate(which.tolist()) if place in reasons}
    return Settled(holds[which], overruns, len(pairs))


def _holds(expression: Expression, variables: Variables, timeout: float) -> tuple[bool, str | None]:
    overruns: list[str] = []
    began = time.perf_counter()
    truth = evaluate(expression, variables, overruns)
    taken = time.perf_counter() - began
    if taken > timeout and not overruns:
        overruns.append(f"it took {taken * 1000:.0f} ms, more than {timeout * 1000:.0f} ms")
    return truth is True, overruns[0] if overruns else None

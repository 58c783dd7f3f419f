"""What the index can't decide, decided by the reference evaluator: only for candidates, and once per event and rest."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.filters.backends.reference import evaluate
from headrace.filters.truth import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from headrace.filters.ir.expression import Expression
    from headrace.matching.accounting import Accounts
    from headrace.matching.runs import Run

    Numbers = npt.NDArray[Any]


def settle(
    run: Run,
    rows: Numbers,
    rests: Numbers,
    expressions: Sequence[Expression],
    accounts: Accounts,
    slow: float = float("inf"),
) -> npt.NDArray[np.bool_]:
    """Say for pairs of row and rest whether the rest holds there; an evaluation above `slow` seconds is counted so."""
    began = ended = time.perf_counter()
    pairs, which = np.unique(np.stack((rows, rests), axis=1), axis=0, return_inverse=True)
    asked, first = np.unique(pairs[:, 0], return_index=True)
    holds = np.zeros(len(pairs), np.bool_)
    errors = overruns = 0
    ends = [*first[1:].tolist(), len(pairs)]
    for variables, start, end in zip(run.variables(asked), first.tolist(), ends, strict=True):
        ended = time.perf_counter()
        for place in range(start, end):
            truth = evaluate(expressions[pairs[place, 1]], variables)
            holds[place] = truth is True
            errors += truth is UNKNOWN
            before, ended = ended, time.perf_counter()
            overruns += ended - before > slow
    accounts.evaluated(len(pairs), errors, overruns, ended - began)
    return holds[which.reshape(-1)]

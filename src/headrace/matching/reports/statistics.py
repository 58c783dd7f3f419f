"""What matching costs and finds, counted per batch: cheap enough to be always on."""

from __future__ import annotations

import threading
from dataclasses import dataclass, fields
from operator import attrgetter, sub
from typing import TYPE_CHECKING, Any

from headrace.telemetry import metrics

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Statistics:
    """Sums over everything that a matcher was asked, by all threads.

    Of `lookups` the Bloom filter let `passed` through, and `found` were of a key that some filter asks for.
    `visited`: entries of the index that were looked at; `candidates`: those of them that the index couldn't decide.
    `evaluations` of CEL decided these; `errors` of them had no answer, `slow` ones took longer than is set.
    A row that is walked again, for lack of room for what it finds, counts again in look-ups and visits.
    Seconds are of the wall, those of the walk and of CEL within those in all.
    """

    batches: int = 0
    events: int = 0
    matches: int = 0
    lookups: int = 0
    passed: int = 0
    found: int = 0
    visited: int = 0
    candidates: int = 0
    evaluations: int = 0
    errors: int = 0
    slow: int = 0
    walk_seconds: float = 0.0
    residual_seconds: float = 0.0
    seconds: float = 0.0

    @property
    def false_positive_rate(self) -> float | None:
        """Which share of the look-ups of keys that aren't there passed; None before there was one."""
        in_vain = self.lookups - self.found
        return (self.passed - self.found) / in_vain if in_vain else None

    def since(self, before: Statistics) -> Statistics:
        """Return what was added since."""
        return Statistics(*map(sub, _numbers(self), _numbers(before)))


_numbers = attrgetter(*(each.name for each in fields(Statistics)))


class Accounts:
    """Adds up. Any number of threads may call any method."""

    def __init__(self) -> None:
        self._adding = threading.Lock()
        self._totals: dict[str, Any] = {each.name: each.default for each in fields(Statistics)}
        self._publishing = threading.Lock()
        self._published = Statistics()

    def walked(self, counts: Numbers, seconds: float) -> None:
        """Add what a walk through a level counted."""
        self._add(
            lookups=int(counts["asked"]),
            passed=int(counts["passed"]),
            found=int(counts["found"]),
            visited=int(counts["visited"]),
            candidates=int(counts["candidates"]),
            walk_seconds=seconds,
        )

    def evaluated(
        self, evaluations: int, errors: int, slow: int, seconds: float, candidates: int = 0
    ) -> None:
        """Add evaluations of CEL, and the candidates among these that no walk has counted."""
        self._add(
            candidates=candidates,
            evaluations=evaluations,
            errors=errors,
            slow=slow,
            residual_seconds=seconds,
        )

    def matched(self, events: int, matches: int, seconds: float) -> None:
        """Add a whole batch, with what was counted as walked and evaluated before."""
        self._add(batches=1, events=events, matches=matches, seconds=seconds)

    def statistics(self) -> Statistics:
        """Return the sums so far."""
        with self._adding:
            return Statistics(**self._totals)

    def publish(self) -> None:
        """Move what was added since the last call to the metrics; call it once per batch."""
        with self._publishing:
            now = self.statistics()
            added, self._published = now.since(self._published), now
        if added.batches:
            _publish(added)

    def _add(self, **numbers: float) -> None:
        with self._adding:
            totals = self._totals
            for name, number in numbers.items():
                totals[name] += number


_COUNTERS = (
    ("events", metrics.MATCH_EVENTS),
    ("matches", metrics.MATCH_MATCHES),
    ("lookups", metrics.MATCH_LOOKUPS),
    ("passed", metrics.MATCH_LOOKUPS_PASSED),
    ("found", metrics.MATCH_LOOKUPS_FOUND),
    ("visited", metrics.MATCH_VISITED),
    ("candidates", metrics.MATCH_CANDIDATES),
    ("evaluations", metrics.MATCH_EVALUATIONS),
    ("errors", metrics.MATCH_EVALUATION_ERRORS),
    ("slow", metrics.MATCH_EVALUATIONS_SLOW),
)


def _publish(added: Statistics) -> None:
    for name, counter in _COUNTERS:
        number = getattr(added, name)
        if number:
            counter.inc(number)
    metrics.MATCH_SECONDS.observe(added.seconds)
    metrics.MATCH_WALK_SECONDS.observe(added.walk_seconds)
    if added.evaluations:
        metrics.MATCH_RESIDUAL_SECONDS.observe(added.residual_seconds)
    if added.events:
        metrics.MATCH_PER_EVENT.observe(added.matches / added.events)

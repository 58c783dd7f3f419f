"""Who nearly wanted an event: the subscriptions with the largest share of their clauses true, and what failed."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from headrace.events.recorded import Recorded
from headrace.filters.backends.predicates import conjunctions_of
from headrace.filters.backends.reference import evaluate
from headrace.filters.explanation import Explanation, explain
from headrace.filters.variables import variables_of
from headrace.matching.reports.explanation import narrowings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.events.event import Event
    from headrace.filters.filter import Filter
    from headrace.filters.ir.expression import Expression
    from headrace.filters.variables import Variables
    from headrace.matching.scope import Scope

    Entry: TypeAlias = tuple[str, Filter, Scope | None]
    Alternative: TypeAlias = tuple[Expression, ...]

MOST_FILTERS = 10_000
"""Distinct filters that are evaluated at most: a second or two of work."""


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A subscription that doesn't match. `failed`: the clauses that don't hold, of the alternative nearest to it.

    `true` of `clauses` hold; what its scope asks of source, type and position are clauses too.
    """

    subscription: str
    true: int
    clauses: int
    failed: tuple[Explanation, ...]

    def __str__(self) -> str:
        head = f"{self.subscription}: {self.true} of {_counted(self.clauses, 'clause')} true"
        return "\n".join([head, *_indented(self.failed)])

    def document(self) -> dict[str, Any]:
        """Return the same as a JSON object."""
        failed = [each.document() for each in self.failed]
        return {
            "subscription": self.subscription,
            "true": self.true,
            "clauses": self.clauses,
            "failed": failed,
        }


@dataclass(frozen=True, slots=True)
class WhyNot:
    """The nearest misses of an event, and how far was looked for them.

    `asked` subscriptions were compared with the event, with `filters` distinct filters; `matching` of them match.
    `unasked` weren't, because the limit of distinct filters was reached; `elsewhere` are of other channels.
    """

    nearest: tuple[NearMiss, ...]
    asked: int
    matching: int
    filters: int
    unasked: int
    elsewhere: int

    def __str__(self) -> str:
        return "\n".join([*map(str, self.nearest), self._extent()])

    def document(self) -> dict[str, Any]:
        """Return the same as a JSON object."""
        return {
            "nearest": [each.document() for each in self.nearest],
            "asked": self.asked,
            "matching": self.matching,
            "filters": self.filters,
            "unasked": self.unasked,
            "elsewhere": self.elsewhere,
        }

    def _extent(self) -> str:
        asked = (
            f"asked {_counted(self.asked, 'subscription')} with {_counted(self.filters, 'distinct filter')}"
        )
        parts = [asked, f"{self.matching} match"]
        if self.unasked:
            parts.append(f"{self.unasked} not asked, beyond the limit of distinct filters")
        if self.elsewhere:
            parts.append(f"{self.elsewhere} of channels that the event is not in")
        return "; ".join(parts)


@dataclass(slots=True)
class _Survey:
    """What is known about distinct filters on one event. Belongs to one call."""

    variables: Variables
    most: int
    counts: dict[Expression, list[tuple[int, int]]] = field(default_factory=dict)

    def of(self, expression: Expression) -> list[tuple[int, int]] | None:
        """Return for each alternative how many of its clauses hold, and how many there are; None beyond the limit."""
        known = self.counts.get(expression)
        if known is None and len(self.counts) < self.most:
            each = [(_true(clauses, self.variables), len(clauses)) for clauses in _alternatives(expression)]
            known = self.counts[expression] = each or [
                (0, 1)
            ]  # it is never true, as one clause that is false
        return known


def why_not(event: Event | Recorded, entries: Iterable[Entry], limit: int, filters: int) -> WhyNot:
    """Rank those who may see the event's channel but don't match; ties in the order of the entries."""
    if limit < 0 or filters < 0:
        raise ValueError("limit and filters are counts, not negative")
    survey = _Survey(variables_of(event), filters)
    misses: list[tuple[float, int, Entry]] = []
    asked = matching = unasked = elsewhere = 0
    for order, entry in enumerate(entries):
        _, filter_, scope = entry
        if not _is_near(scope, event):
            elsewhere += 1
            continue
        counts = survey.of(filter_.expression)
        if counts is None:
            unasked += 1
            continue
        asked += 1
        share = _share(counts, *_of_scope(scope, event))
        if share == 1:
            matching += 1
        else:
            misses.append((-share, order, entry))
    nearest = tuple(_near_miss(entry, event, survey) for *_, entry in heapq.nsmallest(limit, misses))
    return WhyNot(nearest, asked, matching, len(survey.counts), unasked, elsewhere)


def _is_near(scope: Scope | None, event: Event | Recorded) -> bool:
    if scope is None:
        return True
    return isinstance(event, Recorded) and (event.arrival.namespace, event.arrival.channel) == scope.address


def _of_scope(scope: Scope | None, event: Event | Recorded) -> tuple[int, int]:
    """Return how many conditions of a scope hold, and how many there are."""
    if scope is None or not (
        scope.source is not None or scope.types or scope.created or scope.deleted is not None
    ):
        return 0, 0
    lines = narrowings(scope, event, everything=False)
    return sum(line.value is True for line in lines), len(lines)


def _share(counts: list[tuple[int, int]], true: int, clauses: int) -> float:
    """Return the share of the best alternative, together with the scope; 1 exactly where all is true."""
    return max(_ratio(each_true + true, each + clauses) for each_true, each in counts)


def _ratio(true: int, clauses: int) -> float:
    return true / clauses if clauses else 1.0


def _near_miss(entry: Entry, event: Event | Recorded, survey: _Survey) -> NearMiss:
    subscription, filter_, scope = entry
    lines = narrowings(scope, event, everything=False)
    true = sum(line.value is True for line in lines)
    counts = survey.counts[filter_.expression]
    best = max(
        range(len(counts)), key=lambda each: _ratio(counts[each][0] + true, counts[each][1] + len(lines))
    )
    alternatives = _alternatives(filter_.expression)
    if alternatives:
        parts = tuple(explain(clause, survey.variables) for clause in alternatives[best])
    else:
        parts = (filter_.explain(event),)
    failed = tuple(each for each in lines + parts if each.value is not True)
    return NearMiss(subscription, counts[best][0] + true, counts[best][1] + len(lines), failed)


def _alternatives(expression: Expression) -> tuple[Alternative, ...]:
    return tuple((*each.keys, *each.residual) for each in conjunctions_of(expression))


def _true(clauses: Alternative, variables: Variables) -> int:
    return sum(evaluate(clause, variables) is True for clause in clauses)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _indented(explanations: Iterable[Explanation]) -> Iterable[str]:
    return (f"    {line}" for each in explanations for line in str(each).splitlines())

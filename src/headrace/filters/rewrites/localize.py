"""`collection == "orders" -> true`, `publishTime > 5 -> true`: a filter for those who send events to one channel.

Clauses about the channel are decided. Clauses that only the log can answer, and patterns that plain CEL can't express,
are replaced by true. That widens the filter, and is safe only in negation normal form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.filters.backends.reference import evaluate
from headrace.filters.bounds.limits import DEFAULT_LIMITS
from headrace.filters.ir.atoms import Matches, MatchesGlob
from headrace.filters.ir.expression import And, Constant, Expression, Not, Or, all_of, any_of
from headrace.filters.ir.parts import nodes_of, paths_of
from headrace.filters.ir.terms import Call
from headrace.filters.rewrites.negate import push_negations
from headrace.filters.rewrites.unglob import unglob
from headrace.filters.values.patterns import size_of, translate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_OF_THE_CHANNEL = frozenset({"collection", "tenant"})
_OF_THE_LOG = frozenset({*_OF_THE_CHANNEL, "publishTime"})


@dataclass(frozen=True, slots=True)
class Localized:
    """An expression over what a sender knows. `exact` unless clauses were replaced by true."""

    expression: Expression
    exact: bool


_OPEN = Localized(Constant(value=True), exact=False)


def localize(expression: Expression, namespace: str, name: str) -> Localized:
    """Return the expression as it applies to events sent to a channel."""
    return _localized(unglob(push_negations(expression)), {"tenant": namespace, "collection": name})


def _localized(expression: Expression, known: Mapping[str, object]) -> Localized:
    match expression:
        case And(parts):
            return _joined(all_of, parts, known)
        case Or(parts):
            return _joined(any_of, parts, known)
        case MatchesGlob() | Not(MatchesGlob()):
            return _without_glob(expression, known)
        case _:
            return _clause(expression, known)


def _joined(
    join: Callable[[tuple[Expression, ...]], Expression],
    parts: tuple[Expression, ...],
    known: Mapping[str, object],
) -> Localized:
    made = [_localized(part, known) for part in parts]
    return Localized(join(tuple(each.expression for each in made)), all(each.exact for each in made))


def _without_glob(clause: Expression, known: Mapping[str, object]) -> Localized:
    """`x.match("a?") -> x.matches("^a.$")`, unless the regular expression is too large for a filter."""
    glob = clause.part if isinstance(clause, Not) else clause
    assert isinstance(glob, MatchesGlob)  # noqa: S101  by the pattern that led here
    expression = Matches(glob.operand, translate(glob.pattern))
    if size_of(expression.pattern) > DEFAULT_LIMITS.pattern:
        return _OPEN
    return _clause(Not(expression) if isinstance(clause, Not) else expression, known)


def _clause(clause: Expression, known: Mapping[str, object]) -> Localized:
    asked = {path.steps[0] for path in paths_of(clause)}
    if _OF_THE_LOG.isdisjoint(asked) and not any(map(_is_glob, nodes_of(clause))):
        return Localized(clause, exact=True)
    if asked <= _OF_THE_CHANNEL:
        # Unknown counts as false: in negation normal form there is no negation above.
        return Localized(Constant(evaluate(clause, known) is True), exact=True)
    return _OPEN


def _is_glob(node: Expression) -> bool:
    return isinstance(node, MatchesGlob) or (isinstance(node, Call) and node.function == "match")

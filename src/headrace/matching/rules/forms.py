"""What a filter is to the index: alternatives of checks, each with a rest for the reference evaluator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.filters.backends.predicates import conjunctions_of
from headrace.filters.ir.atoms import (
    Comparison,
    Contains,
    EndsWith,
    Has,
    Includes,
    Matches,
    MatchesGlob,
    OneOf,
    StartsWith,
)
from headrace.filters.ir.expression import And, all_of
from headrace.filters.ir.operands import Text
from headrace.filters.rewrites.specialize import specialize
from headrace.filters.values.patterns import pieces_of
from headrace.matching.rules.checks import (
    BETWEEN,
    CONTAINS,
    ENDS,
    EQUAL,
    HAS,
    INCLUDES,
    ONE_OF,
    OPEN_ABOVE,
    OPEN_BELOW,
    STARTS,
    WITHIN,
    Check,
    Span,
    check_of,
    is_text,
    pattern_of,
)
from headrace.matching.rules.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.operands import Operand, Path

_PLAIN = (Comparison, OneOf, Includes, StartsWith, EndsWith, Has, Contains)
_SELECTIVE = frozenset({EQUAL, ONE_OF, STARTS, ENDS, CONTAINS, WITHIN, BETWEEN, INCLUDES, HAS})
_IMPLY_PRESENCE = _SELECTIVE - {HAS}


@dataclass(frozen=True, slots=True)
class Alternative:
    """Matches where all checks and the rest hold. A check may stand there twice. No rest is None."""

    checks: tuple[Check, ...]
    rest: Expression | None


def alternatives_of(expression: Expression) -> tuple[Alternative, ...]:
    """Return the alternatives of a filter: it matches exactly where one of them does."""
    if isinstance(expression, _PLAIN):
        return (_alternative((expression,)),)  # no rewrite could say it better
    if isinstance(expression, And) and all(isinstance(part, _PLAIN) for part in expression.parts):
        return (_alternative(expression.parts),)
    conjunctions = (specialize(each.keys + each.residual) for each in conjunctions_of(expression))
    return tuple(_alternative(each) for each in conjunctions if each is not None)


def _alternative(parts: Iterable[Expression]) -> Alternative:
    checks: list[Check] = []
    rest: list[Expression] = []
    for part in parts:
        check = check_of(part)
        if check is None:
            rest.append(part)
        else:
            checks.append(check)
    checks = _needed(_merged(checks)) if len(checks) > 1 else checks
    if rest:
        checks.extend(check for part in rest for check in _necessary(part))
    if rest and not any(check.code in _SELECTIVE for check in checks):
        _promote_pattern(checks, rest)
    checks.extend(is_text(part.operand) for part in rest if isinstance(part, Matches))
    return Alternative(tuple(checks), all_of(tuple(rest)) if rest else None)


def _merged(checks: list[Check]) -> list[Check]:
    """Make one interval of several about the same field: together they select far fewer events."""
    found: dict[tuple[int, Operand], Check] = {}
    others: list[Check] = []
    for check in checks:
        if check.code not in (WITHIN, BETWEEN):
            others.append(check)
            continue
        key = check.code, check.operand
        known = found.get(key)
        found[key] = check if known is None else Check(*key, _intersection(known.payload, check.payload))
    return others + list(found.values())


def _intersection(one: object, other: object) -> Interval | Span:
    if isinstance(one, Interval) and isinstance(other, Interval):
        return one.intersection(other)
    assert isinstance(one, Span)  # noqa: S101 -- checks of one code have payloads of one type
    assert isinstance(other, Span)  # noqa: S101
    least, open_below = max(
        _below(one), _below(other), key=lambda end: (end[0] is not None, end[0] or b"", end[1])
    )
    # Above, an open end is the narrower one too; no end at all is the widest.
    ends = [end for end in (_above(one), _above(other)) if end[0] is not None]
    most, open_above = min(ends, key=lambda end: (end[0], not end[1])) if ends else (None, 0)
    return Span(least, most, (OPEN_BELOW if open_below else 0) | (OPEN_ABOVE if open_above else 0))


def _below(span: Span) -> tuple[bytes | None, int]:
    return span.least, span.open_ & OPEN_BELOW


def _above(span: Span) -> tuple[bytes | None, int]:
    return span.most, span.open_ & OPEN_ABOVE


def _needed(checks: list[Check]) -> list[Check]:
    """Drop the presence that another check can't be true without."""
    if not any(check.code == HAS for check in checks):
        return checks
    answered = {_path_of(check.operand).steps for check in checks if check.code in _IMPLY_PRESENCE}
    return [check for check in checks if not (check.code == HAS and _is_answered(check.operand, answered))]


def _path_of(operand: Operand) -> Path:
    return operand.path if isinstance(operand, Text) else operand


def _is_answered(operand: Operand, answered: set[tuple[str, ...]]) -> bool:
    steps = _path_of(operand).steps
    return any(other[: len(steps)] == steps for other in answered)


def _necessary(part: Expression) -> list[Check]:
    """Return checks that hold wherever the clause does, so that RE2 sees only what they leave."""
    if not isinstance(part, MatchesGlob):
        return []
    first, *inner = pieces_of(part.pattern)
    last = inner.pop() if inner else first
    checks = [(STARTS, first), (ENDS, last), (CONTAINS, max(inner, key=len, default=""))]
    return [Check(code, part.operand, text.encode(errors="replace")) for code, text in checks if text]


def _promote_pattern(checks: list[Check], rest: list[Expression]) -> None:
    """Look the alternative up by a pattern, where there is nothing better to look it up by."""
    for part in rest:
        check = pattern_of(part)
        if check is not None:
            checks.append(check)
            rest.remove(part)
            return

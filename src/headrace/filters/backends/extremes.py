"""Whether a filter may match any of many events of which only the least and greatest values are known.

The answer is no only if certainly none matches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from headrace.filters.backends.arrow.table import STRING_COLUMNS
from headrace.filters.backends.search import (
    EVENT_TIME,
    asks_moment,
    asks_string,
    is_extension,
    steps_of,
    strings_asked,
)
from headrace.filters.ir.atoms import ATOMS, Comparison, Operator, StartsWith
from headrace.filters.ir.expression import And, Constant, Or
from headrace.filters.rewrites.bound import necessary
from headrace.filters.rewrites.normalize import normal_form

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.filters.ir.expression import Expression

PUBLISH_TIME = ("publishTime",)
_T = TypeVar("_T", int, str)


class StringRange(NamedTuple):
    """The inclusive range of canonical strings; without a greatest one it has no upper end.

    Strings are compared by code points, as in CEL, which is the order of their UTF-8 bytes.
    """

    least: str
    greatest: str | None

    def may_have(self, text: str) -> bool:
        """Return whether a string lies in the range."""
        return self.least <= text and (self.greatest is None or text <= self.greatest)

    def may_begin(self, prefix: str) -> bool:
        """Return whether a string with this prefix may lie in the range: cutting strings keeps their order."""
        length = len(prefix)
        return self.least[:length] <= prefix and (self.greatest is None or prefix <= self.greatest[:length])


class TimeRange(NamedTuple):
    """The inclusive range of times, in milliseconds."""

    least: int
    greatest: int


class Extremes(NamedTuple):
    """The ranges of the values of many events, by path. Times and attributes with a column are absent if not named.

    With `all_extensions` so are extensions.
    """

    strings: Mapping[tuple[str, ...], StringRange]
    moments: Mapping[tuple[str, ...], TimeRange]
    all_extensions: bool


def asked_of_extremes(expression: Expression) -> Expression:
    """Return the filter's necessary condition that extremes can answer; `true` if there is none."""
    return necessary(normal_form(expression), _is_answerable)


def may_hold(condition: Expression, known: Extremes) -> bool:
    """Return whether such a condition may be true for one of the events."""
    match condition:
        case Constant(value):
            return value
        case And(parts):
            return all(may_hold(part, known) for part in parts)
        case Or(parts):
            return any(may_hold(part, known) for part in parts)
        case _:
            return _clause_may_hold(condition, steps_of(condition), known)


def _is_answerable(clause: Expression) -> bool:
    """Admit all atoms about a known path: where no event has a value for it, none of them is true."""
    steps = steps_of(clause)
    has_extremes = steps in STRING_COLUMNS or steps in (EVENT_TIME, PUBLISH_TIME) or is_extension(steps)
    return has_extremes and isinstance(clause, ATOMS)


def _clause_may_hold(clause: Expression, steps: tuple[str, ...], known: Extremes) -> bool:
    if steps in known.moments:
        return not asks_moment(clause) or _moment_may_hold(clause, known.moments[steps])
    if steps in known.strings:
        return not asks_string(clause) or _string_may_hold(clause, known.strings[steps])
    return is_extension(steps) and not known.all_extensions


def _moment_may_hold(clause: Expression, moments: TimeRange) -> bool:
    assert isinstance(clause, Comparison)  # noqa: S101  the only clause about times
    assert isinstance(clause.literal.value, int)  # noqa: S101
    moment = clause.literal.value
    if clause.operator is Operator.EQUAL:
        return moments.least <= moment <= moments.greatest
    return _reaches(clause.operator, moments.least, moments.greatest, moment)


def _string_may_hold(clause: Expression, strings: StringRange) -> bool:
    asked = strings_asked(clause)
    if asked is not None:
        return any(map(strings.may_have, asked))
    match clause:
        case StartsWith(_, prefix):
            return strings.may_begin(prefix)
        case Comparison(_, operator, literal) if isinstance(literal.value, str):
            return _reaches(operator, strings.least, strings.greatest, literal.value)
        case _:
            return True


def _reaches(operator: Operator, least: _T, greatest: _T | None, bound: _T) -> bool:
    """Return whether some value of the range may satisfy the comparison with the bound."""
    match operator:
        case Operator.LESS:
            return least < bound
        case Operator.LESS_OR_EQUAL:
            return least <= bound
        case Operator.GREATER:
            return greatest is None or greatest > bound
        case _:
            return greatest is None or greatest >= bound

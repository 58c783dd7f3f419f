"""Whether a filter may match any of many events of which only the least and the greatest values are known.

The answer is no only where none matches; it is yes wherever that can't be told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar, get_args

from headrace.filters.backends.search import (
    EVENT_TIME,
    asks_moment,
    asks_string,
    is_extension,
    steps_of,
    strings_asked,
)
from headrace.filters.backends.spark.support import STRING_COLUMNS
from headrace.filters.ir.atoms import Atom, Comparison, Operator, StartsWith
from headrace.filters.ir.expression import And, Constant, Or
from headrace.filters.rewrites.bound import necessary
from headrace.filters.rewrites.normalize import normal_form

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.filters.ir.expression import Expression

PUBLISH_TIME = ("publishTime",)
_ATOMS = get_args(Atom)
_T = TypeVar("_T", int, str)


class Strings(NamedTuple):
    """Canonical strings lie between these two, both included; without a greatest one they have no upper end.

    They are compared by code points, as CEL does and as their UTF-8 bytes are.
    """

    least: str
    greatest: str | None

    def may_have(self, text: str) -> bool:
        """Say whether a string lies between them."""
        return self.least <= text and (self.greatest is None or text <= self.greatest)

    def may_begin(self, prefix: str) -> bool:
        """Say whether a string with this beginning lies between them: cutting strings keeps their order."""
        length = len(prefix)
        return self.least[:length] <= prefix and (self.greatest is None or prefix <= self.greatest[:length])


class Moments(NamedTuple):
    """Moments lie between these two, in milliseconds, both included."""

    least: int
    greatest: int


class Extremes(NamedTuple):
    """What is known of many events, by path. No event has a time, or an attribute with a column, that isn't named.

    `all_extensions` says that none has an extension that isn't named, either.
    """

    strings: Mapping[tuple[str, ...], Strings]
    moments: Mapping[tuple[str, ...], Moments]
    all_extensions: bool


def asked_of_extremes(expression: Expression) -> Expression:
    """Return what is necessary for the filter and can be asked of extremes; `true` where nothing can."""
    return necessary(normal_form(expression), _is_answerable)


def may_hold(condition: Expression, known: Extremes) -> bool:
    """Say whether such a condition may be true of one of the events."""
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
    """An atom is true of no event that lacks what it asks for; so all of them are answered where nobody has it."""
    steps = steps_of(clause)
    has_extremes = steps in STRING_COLUMNS or steps in (EVENT_TIME, PUBLISH_TIME) or is_extension(steps)
    return has_extremes and isinstance(clause, _ATOMS)


def _clause_may_hold(clause: Expression, steps: tuple[str, ...], known: Extremes) -> bool:
    if steps in known.moments:
        return not asks_moment(clause) or _moment_may_hold(clause, known.moments[steps])
    if steps in known.strings:
        return not asks_string(clause) or _string_may_hold(clause, known.strings[steps])
    return is_extension(steps) and not known.all_extensions


def _moment_may_hold(clause: Expression, moments: Moments) -> bool:
    assert isinstance(clause, Comparison)  # noqa: S101  the only one that asks for moments
    assert isinstance(clause.literal.value, int)  # noqa: S101
    moment = clause.literal.value
    if clause.operator is Operator.EQUAL:
        return moments.least <= moment <= moments.greatest
    return _reaches(clause.operator, moments.least, moments.greatest, moment)


def _string_may_hold(clause: Expression, strings: Strings) -> bool:
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
    """Say whether something between the least and the greatest stands on the asked side of a bound."""
    match operator:
        case Operator.LESS:
            return least < bound
        case Operator.LESS_OR_EQUAL:
            return least <= bound
        case Operator.GREATER:
            return greatest is None or greatest > bound
        case _:
            return greatest is None or greatest >= bound

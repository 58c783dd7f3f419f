"""Every check, form and member that the index knows, numbered: what levels of the index are built from.

Grows at its end only, so that levels can be built from what is there while more is added. One writer at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from headrace.filters.ir.atoms import Comparison, OneOf, Operator
from headrace.filters.ir.expression import And
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import attribute
from headrace.matching.rules.arrays import Growing
from headrace.matching.rules.checks import (
    EQUAL,
    INCLUDES,
    INCLUDES_NOT,
    NONE_OF,
    ONE_OF,
    STRING_KEY,
    UNEQUAL,
    Check,
    Constant,
    Pattern,
    Span,
    constant_of_value,
)
from headrace.matching.rules.forms import alternatives_of
from headrace.matching.rules.intervals import Interval

if TYPE_CHECKING:
    import numpy.typing as npt

    from headrace.filters.filter import Filter
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.operands import Operand
    from headrace.matching.scope import Channel, Scope

    Numbers = npt.NDArray[Any]

_Value = TypeVar("_Value")
_OPPOSITES = {UNEQUAL: EQUAL, INCLUDES_NOT: INCLUDES, NONE_OF: ONE_OF}


@dataclass(slots=True)
class CheckTable:
    """The distinct checks. `low` and `high` are positions or numbers, as the code says:

    a key has its tag in `low`, and its text's number or its bits in `high`; the opposite of a key or set has that
    check's number in `low`; a text its number in `low`; a set its first place in `sets` and the one after its last;
    an interval is in `low`, `high`, `low_double` and `high_double`; a span has
    the numbers of its texts, -1 for none, and which ends are open in `low_double`; a pattern its number in `low`.
    """

    code: Growing = field(default_factory=lambda: Growing(np.uint8))
    operand: Growing = field(default_factory=lambda: Growing(np.int32))
    low: Growing = field(default_factory=lambda: Growing(np.int64))
    high: Growing = field(default_factory=lambda: Growing(np.int64))
    low_double: Growing = field(default_factory=lambda: Growing(np.int64))
    high_double: Growing = field(default_factory=lambda: Growing(np.int64))

    def append(self, code: int, operand: int, low: int, high: int = 0, *doubles: int) -> int:
        """Add a check and return its number."""
        low_double, high_double = doubles or (0, 0)
        self.code.append(code)
        self.operand.append(operand)
        self.low.append(low)
        self.high.append(high)
        self.low_double.append(low_double)
        self.high_double.append(high_double)
        return len(self.code) - 1


class Catalogue:
    """Numbers for operands, texts, checks, channels, forms and members.

    A form is what members of one channel with equal filters share: alternatives, each of which has checks and maybe
    a rest.
    """

    def __init__(self) -> None:
        self.operands: list[Operand] = []
        self.texts = Growing(np.uint8)
        self.text_ends = Growing(np.int64, [0])
        self.patterns: list[Pattern] = []
        self.channels: list[Channel | None] = []
        self.checks = CheckTable()
        self.sets = Growing(np.int32)
        self.rests: list[Expression] = []
        self.alternative_checks = Growing(np.int32)
        self.alternative_ends = Growing(np.int64, [0])
        self.alternative_rest = Growing(np.int32)
        self.form_ends = Growing(np.int32, [0])
        self.form_channel = Growing(np.int32)
        self.member_form = Growing(np.int32)
        self._checks: dict[Check, int] = {}
        self._texts: dict[bytes, int] = {}
        self._rests: dict[Expression, int] = {}
        self._operands: dict[Operand, int] = {}
        self._patterns: dict[Pattern, int] = {}
        self._channels: dict[Channel | None, int] = {}
        self._forms: dict[tuple[int, Expression, str | None, tuple[str, ...] | None], int] = {}

    def add(self, filter_: Filter, scope: Scope | None) -> int:
        """Add a member and return its number."""
        channel = None if scope is None else scope.address
        number = _number(channel, self._channels, self.channels)
        key = number, filter_.expression, *_narrowing(scope)
        form = self._forms.setdefault(key, len(self._forms))  # one look-up: to hash a tree takes a while
        if form == len(self.form_channel):
            try:
                self._add_form(number, narrowed(filter_, scope))
            except BaseException:
                del self._forms[key]
                raise
        self.member_form.append(form)
        return len(self.member_form) - 1

    def flush(self) -> None:
        """Let levels be built over all that was added."""
        for each in (*vars(self).values(), *(getattr(self.checks, name) for name in CheckTable.__slots__)):
            if isinstance(each, Growing):
                each.flush()

    def channel_of(self, form: int) -> Channel | None:
        """Return the channel of a form."""
        return self.channels[int(self.form_channel.view()[form])]

    def checks_of(self, form: int) -> list[Numbers]:
        """Return the numbers of the checks of each of a form's alternatives."""
        first, last = self.form_ends.view()[form : form + 2].tolist()
        ends = self.alternative_ends.view()[first : last + 1].tolist()
        checks = self.alternative_checks.view()
        return [checks[start:end] for start, end in pairwise(ends)]

    def operand_of(self, check: int) -> Operand:
        """Return the field that a check is about."""
        return self.operands[int(self.checks.operand.view()[check])]

    def elements_of(self, set_: int) -> list[int]:
        """Return the checks of equality with each constant of a set."""
        first, last = self.checks.low.view()[set_], self.checks.high.view()[set_]
        elements: list[int] = self.sets.view()[first:last].tolist()
        return elements

    def equality(self, operand: Operand, value: object) -> int:
        """Return the number of the check that a field is equal to a value, or -1 where nobody asks for that."""
        constant = constant_of_value(value)
        return -1 if constant is None else self._checks.get(Check(EQUAL, operand, constant), -1)

    def _add_form(self, channel: int, expression: Expression) -> int:
        alternatives = alternatives_of(expression)
        numbered = [list(dict.fromkeys(map(self._check, each.checks))) for each in alternatives]
        for alternative, checks in zip(alternatives, numbered, strict=True):
            self.alternative_checks.extend(checks)
            self.alternative_ends.append(len(self.alternative_checks))
            self.alternative_rest.append(
                -1 if alternative.rest is None else _number(alternative.rest, self._rests, self.rests)
            )
        self.form_channel.append(channel)
        self.form_ends.append(len(self.alternative_rest))
        return len(self.form_channel) - 1

    def _check(self, check: Check) -> int:
        number = self._checks.get(check)
        if number is None:
            number = self._checks[check] = self._add_check(check)
        return number

    def _add_check(self, check: Check) -> int:  # noqa: PLR0911 -- one per payload
        operand = _number(check.operand, self._operands, self.operands)
        if check.code in _OPPOSITES:
            opposite = Check(_OPPOSITES[check.code], check.operand, check.payload)
            return self.checks.append(check.code, operand, self._check(opposite))
        match check.payload:
            case Constant() as constant:
                return self.checks.append(check.code, operand, constant.tag, self._constant(constant))
            case tuple() as constants:
                first = len(self.sets)
                members = [self._check(Check(EQUAL, check.operand, each)) for each in constants]
                self.sets.extend(members)
                return self.checks.append(check.code, operand, first, first + len(members))
            case bytes() as text:
                return self.checks.append(check.code, operand, self._text(text))
            case Interval() as interval:
                ends = interval.least, interval.most, interval.least_double, interval.most_double
                return self.checks.append(check.code, operand, *ends)
            case Span(least, most, open_):
                low, high = (-1 if end is None else self._text(end) for end in (least, most))
                return self.checks.append(check.code, operand, low, high, open_, 0)
            case Pattern() as pattern:
                return self.checks.append(
                    check.code, operand, _number(pattern, self._patterns, self.patterns)
                )
            case None:
                return self.checks.append(check.code, operand, 0)

    def _constant(self, constant: Constant) -> int:
        return self._text(constant.text) if constant.tag == STRING_KEY else constant.number

    def _text(self, text: bytes) -> int:
        number = self._texts.get(text)
        if number is None:
            number = self._texts[text] = len(self._texts)
            self.texts.extend(text)
            self.text_ends.append(len(self.texts))
        return number


def _number(value: _Value, numbers: dict[_Value, int], values: list[_Value]) -> int:
    """Return the place of a value in the list, at its end if it is new."""
    number = numbers.setdefault(value, len(values))
    if number == len(values):
        values.append(value)
    return number


def narrowed(filter_: Filter, scope: Scope | None) -> Expression:
    """Join what the scope says about the event's own attributes to the filter."""
    source, types = _narrowing(scope)
    expression = filter_.expression
    parts: list[Expression] = []
    if source is not None:
        parts.append(Comparison(attribute("source"), Operator.EQUAL, Literal(source)))
    if types is not None:
        parts.append(OneOf(attribute("type"), tuple(map(Literal, types))))
    if not parts:
        return expression
    return And((*parts, *(expression.parts if isinstance(expression, And) else (expression,))))


def _narrowing(scope: Scope | None) -> tuple[str | None, tuple[str, ...] | None]:
    return (None, None) if scope is None else (scope.source, scope.types or None)

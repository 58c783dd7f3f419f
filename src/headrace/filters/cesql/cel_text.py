"""Pieces of CEL text that know how tightly they bind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from headrace.filters.backends.cel import write_cel, write_literal, write_operand
from headrace.filters.ir import operands
from headrace.filters.ir.atoms import Has

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.filters.cesql.faults import Value

_CONDITIONAL, _OR, _AND, _RELATION, _SUM, _PRODUCT, _UNARY, _PRIMARY = range(8)
_OPERATORS: Mapping[str, int] = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), _RELATION),
    **dict.fromkeys(("+", "-"), _SUM),
    **dict.fromkeys(("*", "/", "%"), _PRODUCT),
}
_OPPOSITES: Mapping[str, str] = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

LONGEST = 10_000
DEEPEST = 24


class Inexpressible(Exception):
    """CEL can't say it exactly, or not in a text that its evaluators would take."""


@dataclass(frozen=True, slots=True)
class Cel:
    """A text, how tightly it binds, its nesting, the terms of a conjunction or disjunction, and its negation.

    Equal where the texts are.
    """

    text: str
    level: int = field(default=_PRIMARY, compare=False)
    depth: int = field(default=1, compare=False)
    terms: tuple[Cel, ...] = field(default=(), compare=False)
    opposite: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if len(self.text) > LONGEST or self.depth > DEEPEST:
            raise Inexpressible

    def within(self, level: int) -> str:
        """Return the text, in brackets where something that binds as tightly as `level` surrounds it."""
        return self.text if self.level >= level else f"({self.text})"


TRUE: Final = Cel("true")
FALSE: Final = Cel("false")


def all_of(*parts: Cel) -> Cel:
    """Return the conjunction, each term once."""
    return _joined(parts, _AND, " && ", neutral=TRUE, final=FALSE)


def any_of(*parts: Cel) -> Cel:
    """Return the disjunction, each term once."""
    return _joined(parts, _OR, " || ", neutral=FALSE, final=TRUE)


def negated(cel: Cel) -> Cel:
    """Return the negation of a condition."""
    if cel in (TRUE, FALSE):
        return FALSE if cel == TRUE else TRUE
    if cel.opposite:
        return Cel(cel.opposite, cel.level, cel.depth, opposite=cel.text)
    if cel.text.startswith("!") and cel.level == _UNARY:
        return cel.terms[0]
    return Cel(f"!{cel.within(_UNARY)}", _UNARY, cel.depth + 1, (cel,))


def relate(left: Cel, operator: str, right: Cel) -> Cel:
    """Return a comparison or a calculation."""
    level = _OPERATORS[operator]
    one, other = left.within(level + (level == _RELATION)), right.within(level + 1)
    opposite = _OPPOSITES.get(operator)
    return Cel(
        f"{one} {operator} {other}",
        level,
        max(left.depth, right.depth) + 1,
        opposite=f"{one} {opposite} {other}" if opposite else "",
    )


def choose(condition: Cel, yes: Cel, no: Cel) -> Cel:
    """Return `condition ? yes : no`."""
    text = f"{condition.within(_OR)} ? {yes.within(_OR)} : {no.within(_OR)}"
    return Cel(text, _CONDITIONAL, max(condition.depth, yes.depth, no.depth) + 1)


def call(function: str, *arguments: Cel) -> Cel:
    """Return `function(arguments)`."""
    text = f"{function}({', '.join(argument.text for argument in arguments)})"
    return Cel(text, depth=max(argument.depth for argument in arguments) + 1)


def ask(target: Cel, method: str, argument: str) -> Cel:
    """Return `target.method("argument")`."""
    return Cel(f"{target.within(_PRIMARY)}.{method}({literal(argument).text})", depth=target.depth + 1)


def literal(value: Value) -> Cel:
    """Return a constant."""
    is_negative = isinstance(value, int) and value < 0
    return Cel(write_literal(value), _UNARY if is_negative else _PRIMARY)


def list_of(items: Iterable[Cel]) -> Cel:
    """Return a list."""
    return Cel(f"[{', '.join(item.text for item in items)}]", depth=2)


def attribute(name: str) -> Cel:
    """Return `ce.name`, or `ce["1st"]` where the name is none that CEL selects by."""
    return Cel(write_operand(operands.attribute(name)), depth=2)


def has(name: str) -> Cel:
    """Return the test that the event has the attribute."""
    text = write_cel(Has(operands.attribute(name)))
    return Cel(text, depth=3) if text.startswith("has(") else Cel(text, _RELATION, depth=2)


def type_in(value: Cel, *names: str) -> Cel:
    """Return the test that the value is of one of CEL's types."""
    if len(names) == 1:
        return relate(call("type", value), "==", Cel(names[0]))
    return relate(call("type", value), "in", list_of(map(Cel, names)))


def _joined(parts: tuple[Cel, ...], level: int, sign: str, *, neutral: Cel, final: Cel) -> Cel:
    flat = (term for part in parts for term in (part.terms if part.level == level else (part,)))
    terms = tuple(dict.fromkeys(term for term in flat if term != neutral))
    if final in terms:
        return final
    if len(terms) < 2:
        return terms[0] if terms else neutral
    text = sign.join(term.within(level + 1) for term in terms)
    return Cel(text, level, max(term.depth for term in terms) + 1, terms)

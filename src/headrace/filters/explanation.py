"""Why a filter holds on an event or doesn't: every clause with its value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.filters.backends.cel import write_cel, write_literal, write_operand
from headrace.filters.backends.reference import evaluate
from headrace.filters.ir.atoms import Has
from headrace.filters.ir.expression import And, Constant, Not, Or
from headrace.filters.ir.operands import Text
from headrace.filters.truth import UNKNOWN, Truth, conjunction, disjunction, negation
from headrace.filters.values import Fault, kind_of, value_of

if TYPE_CHECKING:
    from headrace.filters.ir.atoms import Atom
    from headrace.filters.ir.expression import Expression
    from headrace.filters.variables import Variables

_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Explanation:
    """A clause, its value on one event, the reason, and the same for the clauses inside it.

    `clause` is the CEL text of an atom or the name of a connective: all of, any of, not. Every clause is
    evaluated, also those that a short-circuit would skip.
    """

    clause: str
    value: Truth
    reason: str = ""
    parts: tuple[Explanation, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        value = "unknown" if self.value is UNKNOWN else str(self.value).lower()
        lines = [f"{value}: {self.clause}" + (f" ({self.reason})" if self.reason else "")]
        for part in self.parts:
            last = part is self.parts[-1]
            first, *rest = part._lines()  # noqa: SLF001 -- of the same class
            lines.append(("└── " if last else "├── ") + first)
            lines.extend(("    " if last else "│   ") + line for line in rest)
        return lines


def explain(expression: Expression, variables: Variables) -> Explanation:
    """Evaluate every clause and say why it has the value it has."""
    match expression:
        case Constant(value):
            return Explanation(write_literal(value), value, "on every event")
        case Not(part):
            inner = explain(part, variables)
            return Explanation("not", negation(inner.value), parts=(inner,))
        case And(parts):
            inners = tuple(explain(part, variables) for part in parts)
            return Explanation("all of", conjunction(inner.value for inner in inners), parts=inners)
        case Or(parts):
            inners = tuple(explain(part, variables) for part in parts)
            return Explanation("any of", disjunction(inner.value for inner in inners), parts=inners)
        case _:
            truth = evaluate(expression, variables)
            return Explanation(write_cel(expression), truth, _reason(expression, variables))


def _reason(atom: Atom, variables: Variables) -> str:
    if isinstance(atom, Has):
        path = atom.path
    else:
        path = atom.operand.path if isinstance(atom.operand, Text) else atom.operand
    value = value_of(path, variables)
    if isinstance(value, Fault):
        return value.reason
    return f"{write_operand(path)} is {_shown(value)}"


def _shown(value: object) -> str:
    if value is None or isinstance(value, str | int | float):
        text = write_literal(value)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return f"a {kind_of(value)}" + (f" of {len(value)}" if isinstance(value, Mapping) else "")

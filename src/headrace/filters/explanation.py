"""Explain the value of a filter on an event: every clause with its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.filters.backends.cel import write_cel, write_literal
from headrace.filters.backends.reference import evaluate, value_of
from headrace.filters.ir.expression import And, Constant, Not, Or
from headrace.filters.ir.parts import paths_of
from headrace.filters.ir.terms import Macro
from headrace.filters.ir.written import Written
from headrace.filters.truth import UNKNOWN, Truth, conjunction, disjunction, negation
from headrace.filters.values.budget import OverBudget
from headrace.filters.values.faults import Fault
from headrace.filters.values.kinds import Kind, kind_of, named

if TYPE_CHECKING:
    from headrace.filters.ir.expression import Clause, Expression
    from headrace.filters.ir.operands import Path
    from headrace.filters.variables import Variables

_SHOWN = 80
_SCALARS = (Kind.NULL, Kind.BOOL, Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.STRING, Kind.BYTES)


@dataclass(frozen=True, slots=True)
class Explanation:
    """A clause, its value on one event, the reason, and the same for the clauses inside it.

    `clause` is the CEL text of an atom or term, the name of a connective (all of, any of, not), or the CESQL text of a
    CESQL expression, with its equivalent in CEL as a part. Every clause is evaluated, including those that a
    short-circuit would skip.
    """

    clause: str
    value: Truth
    reason: str = ""
    parts: tuple[Explanation, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def document(self) -> dict[str, Any]:
        """Return the explanation as a JSON object. Unknown is null; an empty reason and empty parts are left out."""
        shown: dict[str, Any] = {
            "clause": self.clause,
            "value": None if self.value is UNKNOWN else self.value,
        }
        if self.reason:
            shown["reason"] = self.reason
        if self.parts:
            shown["parts"] = [part.document() for part in self.parts]
        return shown

    def _lines(self) -> list[str]:
        value = "unknown" if self.value is UNKNOWN else str(self.value).lower()
        lines = [f"{value}: {self.clause}" + (f" ({self.reason})" if self.reason else "")]
        for part in self.parts:
            last = part is self.parts[-1]
            first, *rest = part._lines()  # noqa: SLF001 -- of the same class
            lines.append(("└── " if last else "├── ") + first)
            lines.extend(("    " if last else "│   ") + line for line in rest)
        return lines


def explain(expression: Expression | Written, variables: Variables) -> Explanation:
    """Evaluate every clause, with the reason for its value."""
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
        case Written():
            inner = explain(expression.tree, variables)
            return Explanation(expression.text, inner.value, expression.reason(variables), (inner,))
        case _:
            truth = evaluate(expression, variables)
            return Explanation(write_cel(expression), truth, _reason(expression, truth, variables))


def _reason(clause: Clause, truth: Truth, variables: Variables) -> str:
    """Return the value at each path of the clause, and why it is unknown if that doesn't tell."""
    paths = list(dict.fromkeys(paths_of(clause)))
    reasons = [_described(path, variables) for path in paths]
    if truth is UNKNOWN and (
        not paths or len(paths) > 1 or isinstance(clause, Macro) or _is_over_budget(clause, variables)
    ):
        reasons.append(_fault_of(clause, variables))
    return "; ".join(dict.fromkeys(filter(None, reasons)))


def _described(path: Path, variables: Variables) -> str:
    try:
        return f"{write_cel(path)} is {_shown(value_of(path, variables))}"
    except Fault as fault:
        return fault.reason


def _fault_of(clause: Clause, variables: Variables) -> str:
    try:
        return f"it is {_shown(value_of(clause, variables))}, not a bool"
    except Fault as fault:
        return fault.reason


def _is_over_budget(clause: Clause, variables: Variables) -> bool:
    try:
        value_of(clause, variables)
    except Fault as fault:
        return isinstance(fault, OverBudget)
    return False


def _shown(value: Any) -> str:
    kind = kind_of(value)
    if kind in _SCALARS:
        text = write_literal(value)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return named(value) + (f" of {len(value)}" if kind in (Kind.MAP, Kind.LIST) else "")

"""A compiled filter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.filters.backends.cel import write_cel
from headrace.filters.backends.reference import evaluate
from headrace.filters.explanation import explain
from headrace.filters.ir.node import Node
from headrace.filters.variables import variables_of

if TYPE_CHECKING:
    from headrace.events.event import Event
    from headrace.events.recorded import Recorded
    from headrace.filters.backends.spark.evaluator import Column
    from headrace.filters.explanation import Explanation
    from headrace.filters.ir.expression import Expression


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """A compiled filter. Frozen: share it freely between threads and processes.

    It fails closed: an event on which the expression is unknown doesn't match. `notes` are remarks for its author, on a
    deprecated dialect for instance. `written` is the tree with clauses of other languages than CEL as they were
    written, if there are any, for explanations only. Equality ignores these two.
    """

    expression: Expression
    notes: tuple[str, ...] = field(default=(), compare=False)
    written: Expression | None = field(default=None, compare=False, repr=False)

    @property
    def cel(self) -> str:
        """The canonical CEL text, which defines what the filter means."""
        return write_cel(self.expression)

    def matches(self, event: Event | Recorded) -> bool:
        """Return whether the filter matches. Only `Recorded` events have `collection`, `tenant` and `publishTime`."""
        return evaluate(self.expression, variables_of(event)) is True

    def explain(self, event: Event | Recorded) -> Explanation:
        """Explain why the filter matches or doesn't, clause by clause; `str()` of the explanation draws the tree."""
        return explain(self.expression if self.written is None else self.written, variables_of(event))

    def column(self) -> Column:
        """Return the filter as a Spark column over the event table: true where it matches, else false."""
        # Imported here because Spark is heavy and only needed for columns.
        from headrace.filters.backends.spark.evaluator import column

        return column(self.expression)

"""A compiled filter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.filters.backends.cel import is_sayable, write_cel
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
    """Which events someone wants. Frozen: share it between threads and processes freely.

    It fails closed: an event on which the expression is unknown doesn't match. `notes` tell its author what
    to know about the way it is written (a deprecated dialect, for instance). `written` is the same tree with the
    clauses of other languages than CEL as they were written, where there are any: for explanations alone. Filters
    are equal without these two.
    """

    expression: Expression
    notes: tuple[str, ...] = field(default=(), compare=False)
    written: Expression | None = field(default=None, compare=False, repr=False)

    @property
    def cel(self) -> str | None:
        """The canonical CEL text, which defines what the filter means; None where CEL can't say it.

        Only some CESQL has none, LOWER of an attribute for instance: the page on CESQL lists what.
        """
        return write_cel(self.expression) if is_sayable(self.expression) else None

    def matches(self, event: Event | Recorded) -> bool:
        """Say whether the event is wanted. A bare event has no `collection`, `tenant` and `publishTime`."""
        return evaluate(self.expression, variables_of(event)) is True

    def explain(self, event: Event | Recorded) -> Explanation:
        """Say why the event is wanted or isn't, clause by clause; `str()` of it draws the tree."""
        return explain(self.expression if self.written is None else self.written, variables_of(event))

    def column(self) -> Column:
        """Return the filter as a Spark column over the event table: true where it matches, else false."""
        # The one import inside a function: Spark is heavy, and only those who ask for a column need it.
        from headrace.filters.backends.spark.evaluator import column

        return column(self.expression)

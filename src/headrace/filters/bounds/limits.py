"""The limits of a filter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.errors import FilterError


@dataclass(frozen=True, slots=True)
class Limits:
    """A filter beyond any of these is refused before it is stored, never cut down to size.

    `depth`: levels of nested filters, including the outermost. It is lower than the 32 levels of Google's CEL parser,
    since the text of a filter nests deeper than the filter. `atoms`: comparisons, calls and operations, without the
    presence tests that guard them. `length`: characters of one text, a value or a name. `expression`: characters of an
    expression, and of the CEL text that any filter becomes; at most 100,000, which is all that Google's parser reads.
    `macros`: macros in the filter, and `body`: nodes inside one of them. `scans`: clauses without macros that search a
    text or a list, or compare two values of the event. A clause costs at most the budget of `values/budget.py` on one
    event, so a filter costs at most `macros` and `scans` such budgets. `pattern`: the size of a regular expression's
    program, as RE2 counts it. `alternatives`: conjunctions that a filter may become in disjunctive form.
    """

    depth: int = 24
    atoms: int = 1000
    length: int = 10_000
    expression: int = 100_000
    macros: int = 4
    body: int = 100
    scans: int = 32
    pattern: int = 2000
    alternatives: int = 1000

    def check(self, limit: str, count: int, what: str, **fields: Any) -> None:
        """Raise `FilterError`, with these fields, if the count exceeds the limit of that name."""
        most: int = getattr(self, limit)
        if count > most:
            raise FilterError(f"{count} {what} exceed the limit `{limit}` of {most}", limit=limit, **fields)


DEFAULT_LIMITS = Limits()

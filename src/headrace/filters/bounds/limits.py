"""What a filter may cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """A filter beyond any of these is refused before it is stored, never cut down to size.

    `depth`: filters nested in filters, the outermost counted; below the 32 levels at which Google's parser of
    CEL stops, since the text of a filter nests deeper than the filter. `atoms`: comparisons, calls and operations in
    the filter, without the presence tests that guard them. `length`: characters of one text, a value or a name.
    `expression`: characters of an expression, and of the CEL text that any filter becomes; at most 100,000, which
    is as much as Google's parser reads. `macros`: macros in the filter, and `body`: nodes inside one of them.
    `scans`: clauses without macros that search a text or a list, or compare two values of the event. On one event a
    clause costs at most the budget of `values/budget.py`, so a filter at most `macros` and `scans` such budgets.
    `pattern`: the size of a regular expression's program, as RE2 counts it. `alternatives`: conjunctions that a
    filter may become where a back end needs it in disjunctive form.
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


DEFAULT_LIMITS = Limits()

"""What a filter may cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """A filter beyond any of these is refused before it is stored, never cut down to size.

    `depth`: filters nested in filters, the outermost counted. `atoms`: comparisons in the filter, without
    the presence tests that guard them. `length`: characters of one text, a value or an expression.
    """

    depth: int = 32
    atoms: int = 1000
    length: int = 10_000


DEFAULT_LIMITS = Limits()

"""A CESQL expression that CEL can express, as its author wrote it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.filters.bounds.limits import Limits
from headrace.filters.cesql.expression import parse
from headrace.filters.cesql.predicate import CesqlPredicate
from headrace.filters.ir.opaque import Opaque

if TYPE_CHECKING:
    from headrace.filters.cesql.program import Attributes
    from headrace.filters.ir.expression import Expression

# The text passed its limits before, whatever they were.
_NONE = Limits(depth=sys.maxsize, atoms=sys.maxsize, length=sys.maxsize)


@dataclass(frozen=True, slots=True)
class CesqlSource(Opaque):
    """The text and the equivalent tree. Every filter keeps it, so it is small: the text is parsed again when needed."""

    written: str
    tree: Expression

    @property
    def lowered(self) -> Expression:
        """The equivalent tree."""
        return self.tree

    @property
    def text(self) -> str:
        """The canonical CESQL text."""
        return self._predicate().text

    def truth(self, attributes: Attributes) -> bool:
        """Return whether an event with these attributes passes."""
        return self._predicate().truth(attributes)

    def reason(self, attributes: Attributes) -> str:
        """Return the error that made it false, or else the values of its attributes."""
        return self._predicate().reason(attributes)

    def _predicate(self) -> CesqlPredicate:
        return CesqlPredicate(parse(self.written, _NONE))

"""A CESQL expression that CEL can say, as its author wrote it."""

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

# Whatever limits the text was read with, it is read again.
_NONE = Limits(depth=sys.maxsize, atoms=sys.maxsize, length=sys.maxsize)


@dataclass(frozen=True, slots=True)
class CesqlSource(Opaque):
    """The text and the tree that says the same. Small, as every filter keeps it: whoever asks reads it again."""

    written: str
    tree: Expression

    @property
    def lowered(self) -> Expression:
        """The tree."""
        return self.tree

    @property
    def text(self) -> str:
        """The canonical CESQL text."""
        return self._predicate().text

    def truth(self, attributes: Attributes) -> bool:
        """Say whether an event with these attributes passes."""
        return self._predicate().truth(attributes)

    def reason(self, attributes: Attributes) -> str:
        """Say which error made it false, or else what its attributes are."""
        return self._predicate().reason(attributes)

    def _predicate(self) -> CesqlPredicate:
        return CesqlPredicate(parse(self.written, _NONE))

"""A CESQL expression as one clause of a filter."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.filters.cesql.syntax import Attribute, Exists, children
from headrace.filters.cesql.text.writer import write_cesql
from headrace.filters.cesql.translation import to_cel
from headrace.filters.ir.opaque import Opaque

if TYPE_CHECKING:
    from headrace.filters.cesql.expression import Expression, Result
    from headrace.filters.cesql.program import Attributes
    from headrace.filters.cesql.syntax import Node


@dataclass(frozen=True, slots=True)
class CesqlPredicate(Opaque):
    """Two-valued: any error during evaluation makes it false, and its negation true."""

    expression: Expression

    @property
    def cel(self) -> str | None:
        """The equivalent CEL text; None if CEL can't express it."""
        return to_cel(self.expression)

    @property
    def text(self) -> str:
        """The canonical CESQL text."""
        return write_cesql(self.expression.root)

    @property
    def attributes(self) -> frozenset[str]:
        """The names of all attributes that the expression reads."""
        return frozenset(_names(self.expression.root))

    def truth(self, attributes: Attributes) -> bool:
        """Return whether an event with these attributes passes."""
        return self.expression.passes(attributes)

    def reason(self, attributes: Attributes) -> str:
        """Return the error that made it false, or else the values of its attributes."""
        errors = self.result(attributes).errors
        if errors:
            return "; ".join(f"{error.kind.value} error: {error.problem}" for error in errors)
        names = sorted(self.attributes)
        return "; ".join(f"{name} is {_shown(name, attributes)}" for name in names)

    def result(self, attributes: Attributes) -> Result:
        """Return the value, and the error that made the predicate false, if any."""
        return self.expression.evaluate(attributes)


def _shown(name: str, attributes: Attributes) -> str:
    return reprlib.repr(attributes[name]) if name in attributes else "missing"


def _names(node: Node) -> list[str]:
    if isinstance(node, Attribute | Exists):
        return [node.name]
    return [name for child in children(node) for name in _names(child)]

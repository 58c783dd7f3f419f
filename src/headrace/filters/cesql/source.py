"""A CESQL expression as its author wrote it."""

from __future__ import annotations

import reprlib
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.filters.backends.reference import value_of
from headrace.filters.bounds.limits import Limits
from headrace.filters.cesql.syntax import attributes_in
from headrace.filters.cesql.terms import term_of
from headrace.filters.cesql.text.parser import parse
from headrace.filters.cesql.text.writer import write_cesql
from headrace.filters.ir.written import Written
from headrace.filters.values.cesql.errors import CesqlError
from headrace.filters.values.faults import Fault
from headrace.filters.variables import attributes_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.filters.cesql.syntax import Node
    from headrace.filters.ir.expression import Expression
    from headrace.filters.variables import Variables

# The text passed its limits before, whatever they were.
_NONE = Limits(depth=sys.maxsize, atoms=sys.maxsize, length=sys.maxsize)


@dataclass(frozen=True, slots=True)
class CesqlSource(Written):
    """The text and the equivalent tree. Every filter keeps it, so it is small: the text is parsed again when needed."""

    written: str
    tree: Expression

    @property
    def text(self) -> str:
        """The canonical CESQL text."""
        return write_cesql(self._root())

    def reason(self, variables: Variables) -> str:
        """Return the error that made it false, or else the values of its attributes."""
        root = self._root()
        try:
            value = value_of(term_of(root), variables)
        except Fault as fault:
            return fault.reason
        if isinstance(value, CesqlError):
            return str(value)
        attributes = attributes_of(variables)
        return "; ".join(f"{name} is {_shown(name, attributes)}" for name in sorted(attributes_in(root)))

    def _root(self) -> Node:
        return parse(self.written, _NONE)


def _shown(name: str, attributes: Mapping[str, object]) -> str:
    return reprlib.repr(attributes[name]) if name in attributes else "missing"

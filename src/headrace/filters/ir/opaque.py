"""A clause in another language, with its own evaluator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from headrace.filters.ir.node import Node

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.filters.ir.expression import Expression


class Opaque(Node, ABC):
    """True or false on every event, never unknown. May be an operand of connectives, never a part of a term.

    Subclasses are frozen values, as all nodes are. A clause that CEL can express exactly must be lowered: the index
    can't see inside an opaque one.
    """

    __slots__ = ()

    @property
    def lowered(self) -> Expression | None:
        """The tree with the same value on every valid event; None if CEL can't express it."""
        return None

    @property
    @abstractmethod
    def text(self) -> str:
        """The clause in its own language; equal nodes have equal texts."""

    @abstractmethod
    def truth(self, attributes: Mapping[str, object]) -> bool:
        """Return its value on an event with these attributes."""

    @abstractmethod
    def reason(self, attributes: Mapping[str, object]) -> str:
        """Return the reason for that value, for an explanation."""

"""A clause that CEL can't say, with an evaluator of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from headrace.filters.ir.node import Node

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.filters.ir.expression import Expression


class Opaque(Node, ABC):
    """True or false on every event, never unknown. Stands between connectives only, never inside a term.

    Whoever derives from it is a frozen value as every node is. A clause that CEL can say exactly must not stay one:
    it would be hidden from the index.
    """

    __slots__ = ()

    @property
    def lowered(self) -> Expression | None:
        """The tree that says the same on every valid event; none where CEL can't say it."""
        return None

    @property
    @abstractmethod
    def text(self) -> str:
        """The clause as its own language writes it; equal nodes have equal texts."""

    @abstractmethod
    def truth(self, attributes: Mapping[str, object]) -> bool:
        """Say whether it holds on an event with these attributes."""

    @abstractmethod
    def reason(self, attributes: Mapping[str, object]) -> str:
        """Say why, in words, for an explanation."""

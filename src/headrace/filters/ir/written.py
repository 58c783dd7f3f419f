"""A clause as its author wrote it, in another language than CEL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from headrace.filters.ir.node import Node

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.filters.ir.expression import Expression


class Written(Node, ABC):
    """Stands for its `tree`, which means the same. Only explanations look at it.

    It isn't one of the nodes that back ends know: `lower` puts the tree in its place before any of them sees it.
    """

    __slots__ = ()
    tree: Expression

    @property
    @abstractmethod
    def text(self) -> str:
        """The clause in its own language."""

    @abstractmethod
    def reason(self, variables: Mapping[str, object]) -> str:
        """Return the reason for its value on an event, in the terms of its own language."""

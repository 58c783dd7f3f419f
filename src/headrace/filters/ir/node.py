"""What all nodes of the tree share."""

from __future__ import annotations


class Node:
    """A frozen value. Equal nodes are interchangeable: they have the same meaning on every event."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[type[Node], tuple[object, ...]]:
        """Pickle as a plain call: smaller than the state that dataclasses keep, and read back in half the time."""
        return type(self), tuple(getattr(self, name) for name in self.__match_args__)

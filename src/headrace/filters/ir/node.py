"""The base class of all nodes."""

from __future__ import annotations


class Node:
    """A frozen value. Equal nodes are interchangeable: they have the same meaning on every event."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[type[Node], tuple[object, ...]]:
        """Pickle as a constructor call: smaller than the state of a dataclass, and twice as fast to load."""
        return type(self), tuple(getattr(self, name) for name in self.__match_args__)

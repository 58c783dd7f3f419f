"""What the ids in addresses stand for: whose each thing is, and what it looks like before and after a change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from headrace.api.access.permissions import Of


class Thing(NamedTuple):
    """The namespaces that it belongs to, None for one that is above all of them, and its document where it has one."""

    namespaces: Collection[str] | None
    document: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Things:
    """`looks` find things by their ids, and raise NotFound; they block."""

    looks: Mapping[Of, Callable[[str], Thing]] = field(default_factory=dict)

    def find(self, of: Of, thing_id: str) -> Thing:
        """Return a thing, or raise NotFound."""
        return self.looks[of](thing_id)

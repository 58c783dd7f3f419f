"""The resources that ids in addresses stand for: whose each one is, and what it looks like around a change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from headrace.api.access.permissions import Target


class Resource(NamedTuple):
    """`namespaces` is None for a resource that is above all of them; `document` is None where there is none."""

    namespaces: Collection[str] | None
    document: Mapping[str, Any] | None = None


Finders = Mapping[Target, Callable[[str], Resource]]
"""Find resources by id, or raise NotFound. They block."""
